import { idJag, oauth, customRedirect, type Authorizer, type OAuthOptions } from 'everwire/auth';
import type { JsonObject } from 'everwire/client';

/** The URL of this client's metadata, by which the suite knows it. Nothing fetches it. */
const METADATA_URL = 'https://conformance-test.local/client-metadata.json';
/** Nothing listens there: the authorization server of the suite returns a redirect, which is not followed. */
const REDIRECT_URI = 'http://127.0.0.1:3000/callback';

/** The way in which a scenario gets tokens. */
export function authorizerFor(scenario: string, context: JsonObject): Authorizer {
  return oauth(optionsFor(scenario, context));
}

function optionsFor(scenario: string, context: Readonly<Record<string, string>>): OAuthOptions {
  const client = { clientId: context['client_id']!, clientSecret: context['client_secret'] };
  switch (scenario) {
    case 'auth/client-credentials-jwt': {
      const privateKey = { key: context['private_key_pem']!, algorithm: context['signing_algorithm'] };
      return { clientCredentials: true, client: { clientId: client.clientId, privateKey } };
    }
    case 'auth/client-credentials-basic':
      return { clientCredentials: true, client };
    case 'auth/enterprise-managed-authorization': {
      const assertion = idJag({
        tokenEndpoint: context['idp_token_endpoint']!,
        issuer: context['idp_issuer']!,
        clientId: context['idp_client_id']!,
        subjectToken: context['idp_id_token']!,
      });
      return { assertion, client };
    }
    case 'auth/wif-jwt-bearer':
      return { assertion: () => Promise.resolve(context['valid_jwt']!), client: { clientId: client.clientId } };
    case 'auth/pre-registration':
      return { redirect, client: { ...client, issuer: context['issuer'] } };
    default:
      return { redirect, clientMetadataUrl: METADATA_URL };
  }
}

/** A user who is already logged in and accepts everything. */
const redirect = customRedirect(REDIRECT_URI, async ({ url, signal }) => {
  const response = await fetch(url, { redirect: 'manual', signal });
  const location = response.headers.get('location');
  if (location === null) throw new Error(`The authorization server answered ${response.status} without a redirect`);
  return new URL(location);
});
