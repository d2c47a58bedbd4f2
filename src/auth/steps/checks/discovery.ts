import { peerUrl } from '../../../base/peer-url.ts';
import { isStrings } from '../../../jsonrpc/message.ts';
import { parameterIn } from '../../../transport/http/client/www-authenticate.ts';
import { checkPkce } from '../../client/authorization-code.ts';
import { issuerMetadataUrls } from '../../urls.ts';
import { clauses, notApplicable, type CheckRule, type NotApplicable } from '../check-rule.ts';
import type { Facts } from '../facts.ts';
import { declaresJson, includes, isSecure, quoted } from './values.ts';

const LOCATION = clauses(
  undefined,
  'authorization-server-location',
  'authorization-server-location',
  'authorization-server-discovery#authorization-server-location',
);
const METADATA = clauses(
  'server-metadata-discovery',
  'server-metadata-discovery',
  'authorization-server-metadata-discovery',
  'authorization-server-discovery#authorization-server-metadata-discovery',
);
export const PKCE = clauses(
  'implementation-requirements',
  'authorization-code-protection',
  'authorization-code-protection',
  'security-considerations#authorization-code-protection',
);
export const COMMUNICATION = clauses(
  'security-considerations',
  'communication-security',
  'communication-security',
  'security-considerations#communication-security',
);
const NO_CHALLENGE = notApplicable('there is no 401 response');
const NO_RESOURCE = notApplicable('there is no protected-resource metadata');
const NO_SERVER = notApplicable('there is no authorization-server metadata');

/** The challenge of a 401 response that a client of MCP can use. */
function challengeOf({ challenges, refusal }: Facts): NotApplicable | true | string {
  if (refusal?.status !== 401) return NO_CHALLENGE;
  if (challenges.some(({ scheme }) => scheme === 'bearer' || scheme === 'dpop')) return true;
  const header = refusal.headers['www-authenticate'];
  return header === undefined ? 'there is no WWW-Authenticate header' : `WWW-Authenticate: ${header}`;
}

/** The members of the authorization-server metadata. */
function member({ serverDocument }: Facts, name: string): unknown {
  return serverDocument?.json[name];
}

export const DISCOVERY_CHECKS: readonly CheckRule[] = [
  {
    id: 'unauthorized-status',
    step: 'challenge',
    level: 'must',
    clauses: clauses('example-authorization-code-grant', 'error-handling', 'error-handling', 'error-handling'),
    rfc: 'RFC 6750, section 3.1',
    right: 'A server that requires authorization answers a request without a token with status 401.',
    judge({ refusal }) {
      if (!refusal) return 'no response';
      const { status } = refusal;
      if (status === 401) return true;
      if (status < 300) return notApplicable(`status ${status}: the server answers this request without a token`);
      return status === 403 ? 'status 403' : notApplicable(`status ${status} does not say whether a token is missing`);
    },
  },
  {
    id: 'challenge-present',
    step: 'challenge',
    level: 'must',
    clauses: clauses('token-handling', 'authorization-server-location', 'token-handling', 'token-handling'),
    rfc: 'RFC 6750, section 3; RFC 9110, section 15.5.2',
    right: 'A 401 response has a WWW-Authenticate header with the scheme Bearer, or DPoP.',
    judge: challengeOf,
  },
  {
    id: 'challenge-names-metadata',
    step: 'challenge',
    level: 'must',
    clauses: clauses(undefined, 'authorization-server-location'),
    rfc: 'RFC 9728, section 5.1',
    right: 'The challenge names the address of the protected-resource metadata in resource_metadata.',
    judge(facts) {
      const challenge = challengeOf(facts);
      if (challenge !== true) return typeof challenge === 'string' ? notApplicable('there is no challenge') : challenge;
      return parameterIn(facts.challenges, 'resource_metadata') === undefined ? 'there is no resource_metadata' : true;
    },
  },
  {
    id: 'challenge-names-scope',
    step: 'challenge',
    level: 'should',
    clauses: clauses(
      undefined,
      undefined,
      'protected-resource-metadata-discovery-requirements',
      'scope-selection-strategy',
    ),
    rfc: 'RFC 6750, section 3',
    right: 'The challenge names the scopes that the request needs.',
    judge(facts) {
      if (challengeOf(facts) !== true) return notApplicable('there is no challenge');
      return parameterIn(facts.challenges, 'scope') === undefined ? 'there is no scope' : true;
    },
  },
  {
    id: 'challenge-without-offline-access',
    step: 'challenge',
    level: 'should',
    clauses: clauses(undefined, undefined, undefined, 'refresh-tokens'),
    right: 'The challenge does not name offline_access, because no resource needs a refresh token.',
    judge({ challenges }) {
      const scope = parameterIn(challenges, 'scope');
      if (scope === undefined) return notApplicable('the challenge names no scopes');
      return scope.split(' ').includes('offline_access') ? `scope=${quoted(scope)}` : true;
    },
  },
  {
    id: 'resource-metadata-found',
    step: 'resource-metadata',
    level: 'must',
    clauses: clauses(
      undefined,
      'authorization-server-location',
      'protected-resource-metadata-discovery-requirements',
      'authorization-server-discovery#protected-resource-metadata-discovery-requirements',
    ),
    rfc: 'RFC 9728, section 3',
    right: 'The server has protected-resource metadata, where its challenge says or at a well-known address.',
    judge({ resourceDocument, exchanges }) {
      if (resourceDocument) return true;
      const seen = exchanges.map(({ url, reply, problem }) => {
        const what = reply?.status === 200 ? 'no JSON object' : `status ${reply?.status}`;
        return `${url}: ${reply ? what : (problem ?? 'no response')}`;
      });
      return seen.join('; ') || 'no request was possible';
    },
  },
  {
    id: 'resource-metadata-type',
    step: 'resource-metadata',
    level: 'must',
    clauses: LOCATION,
    rfc: 'RFC 9728, section 3.2',
    right: 'The protected-resource metadata has the content type application/json.',
    judge: ({ resourceDocument }) => (resourceDocument ? declaresJson(resourceDocument.reply) : NO_RESOURCE),
  },
  {
    id: 'resource-matches',
    step: 'resource-metadata',
    level: 'must',
    clauses: clauses(undefined, 'canonical-server-uri', 'canonical-server-uri', 'canonical-server-uri'),
    rfc: 'RFC 9728, section 3.3',
    right: 'The resource in the metadata is the address of the server, or a parent of it.',
    judge({ resourceDocument, resourceAccepted }) {
      if (!resourceDocument) return NO_RESOURCE;
      return resourceAccepted ? true : `resource: ${quoted(resourceDocument.json['resource'])}`;
    },
  },
  {
    id: 'authorization-servers-named',
    step: 'resource-metadata',
    level: 'must',
    clauses: LOCATION,
    rfc: 'RFC 9728, section 2',
    right: 'The metadata names at least one authorization server in authorization_servers.',
    judge({ resourceDocument }) {
      if (!resourceDocument) return NO_RESOURCE;
      const servers = resourceDocument.json['authorization_servers'];
      return isStrings(servers) && servers.length > 0 ? true : `authorization_servers: ${quoted(servers)}`;
    },
  },
  {
    id: 'header-tokens-accepted',
    step: 'resource-metadata',
    level: 'must',
    clauses: clauses(undefined, 'token-requirements', 'token-requirements', 'token-requirements'),
    rfc: 'RFC 9728, section 2',
    right: 'If the metadata has bearer_methods_supported, this list contains "header".',
    judge({ resourceDocument }) {
      const methods = resourceDocument?.json['bearer_methods_supported'];
      if (methods === undefined) return notApplicable('there is no bearer_methods_supported');
      return includes(methods, 'header');
    },
  },
  {
    id: 'scopes-without-offline-access',
    step: 'resource-metadata',
    level: 'should',
    clauses: clauses(undefined, undefined, undefined, 'refresh-tokens'),
    right: 'The scopes_supported of the resource do not contain offline_access.',
    judge({ resourceDocument }) {
      const scopes = resourceDocument?.json['scopes_supported'];
      if (!isStrings(scopes)) return notApplicable('the metadata names no scopes');
      return scopes.includes('offline_access') ? `scopes_supported: ${quoted(scopes)}` : true;
    },
  },
  {
    id: 'server-metadata-found',
    step: 'server-metadata',
    level: 'must',
    shouldIn: ['2025-03-26'],
    clauses: METADATA,
    rfc: 'RFC 8414, section 3',
    right: 'The authorization server has metadata at a well-known address of its issuer.',
    judge({ serverDocument, exchanges }) {
      if (serverDocument) return true;
      const seen = exchanges.map(
        ({ url, reply, problem }) => `${url}: ${reply ? `status ${reply.status}` : (problem ?? 'no response')}`,
      );
      return seen.join('; ') || 'no request was possible';
    },
  },
  {
    id: 'oauth-metadata-form',
    step: 'server-metadata',
    level: 'must',
    clauses: clauses(undefined, 'overview'),
    rfc: 'RFC 8414, section 3.1',
    right: 'The metadata is at oauth-authorization-server: this revision does not know OpenID Connect Discovery.',
    judge({ serverDocument, issuer }) {
      if (!serverDocument) return NO_SERVER;
      const url = peerUrl(issuer);
      const [first] = url ? issuerMetadataUrls(url) : [];
      return serverDocument.url === first ? true : `found at ${serverDocument.url}`;
    },
  },
  {
    id: 'issuer-matches',
    step: 'server-metadata',
    level: 'must',
    clauses: METADATA,
    rfc: 'RFC 8414, section 3.3',
    right: 'The issuer in the metadata is identical to the one that the address was made from.',
    judge(facts) {
      if (!facts.serverDocument) return NO_SERVER;
      const issuer = member(facts, 'issuer');
      // In 2025-03-26, nobody names the issuer: it follows from the address of the server.
      const wanted = facts.resourceDocument ? [facts.issuer] : [facts.issuer, `${facts.issuer}/`];
      return wanted.includes(issuer as string) ? true : `issuer: ${quoted(issuer)} instead of ${quoted(facts.issuer)}`;
    },
  },
  {
    id: 'endpoints-present',
    step: 'server-metadata',
    level: 'must',
    clauses: METADATA,
    rfc: 'RFC 8414, section 2',
    right: 'The metadata has an authorization_endpoint and a token_endpoint.',
    judge(facts) {
      if (!facts.serverDocument) return NO_SERVER;
      const missing = ['authorization_endpoint', 'token_endpoint'].filter(
        (name) => typeof member(facts, name) !== 'string',
      );
      return missing.length === 0 ? true : `missing: ${missing.join(', ')}`;
    },
  },
  {
    id: 'endpoints-secure',
    step: 'server-metadata',
    level: 'must',
    clauses: COMMUNICATION,
    right: 'All endpoints of the authorization server use https. Only on this machine, http is possible.',
    judge(facts) {
      const { server } = facts;
      if (!server) return NO_SERVER;
      const names = [
        'authorization_endpoint',
        'token_endpoint',
        'registration_endpoint',
        'revocation_endpoint',
      ] as const;
      const wrong = names.filter((name) => server[name] !== undefined && !isSecure(server[name]));
      return wrong.length === 0 ? true : wrong.map((name) => `${name}: ${quoted(server[name])}`).join(', ');
    },
  },
  {
    id: 'code-flow-offered',
    step: 'server-metadata',
    level: 'must',
    clauses: clauses('overview', 'overview', 'overview', 'overview'),
    rfc: 'RFC 8414, section 2',
    right:
      'The metadata has response_types_supported with code. grant_types_supported, if present, has authorization_code.',
    judge(facts) {
      if (!facts.serverDocument) return NO_SERVER;
      const responses = includes(member(facts, 'response_types_supported'), 'code');
      if (responses !== true) return `response_types_supported: ${responses}`;
      const grants = member(facts, 'grant_types_supported');
      const granted = grants === undefined ? true : includes(grants, 'authorization_code');
      return granted === true ? true : `grant_types_supported: ${granted}`;
    },
  },
  {
    id: 'registration-offered',
    step: 'server-metadata',
    level: 'should',
    clauses: clauses('dynamic-client-registration', 'dynamic-client-registration'),
    rfc: 'RFC 7591, section 3',
    right: 'The authorization server registers clients dynamically: its metadata has a registration_endpoint.',
    judge(facts) {
      if (!facts.serverDocument) return NO_SERVER;
      return member(facts, 'registration_endpoint') === undefined ? 'there is no registration_endpoint' : true;
    },
  },
  {
    id: 'client-documents-offered',
    step: 'server-metadata',
    level: 'should',
    clauses: clauses(
      undefined,
      undefined,
      'client-id-metadata-documents',
      'client-registration#client-id-metadata-documents',
    ),
    right:
      'The authorization server accepts Client ID Metadata Documents: client_id_metadata_document_supported is true.',
    judge(facts) {
      if (!facts.serverDocument) return NO_SERVER;
      const supported = member(facts, 'client_id_metadata_document_supported');
      return supported === true ? true : `client_id_metadata_document_supported: ${quoted(supported)}`;
    },
  },
  {
    id: 'pkce-s256',
    step: 'pkce',
    level: 'must',
    clauses: PKCE,
    rfc: 'RFC 7636, section 4.2; RFC 8414, section 2',
    right: 'code_challenge_methods_supported of the authorization server contains S256.',
    judge({ server, serverDocument }) {
      if (!server) return NO_SERVER;
      if (!serverDocument) return notApplicable('without metadata, the server has to support PKCE');
      try {
        checkPkce(server);
        return true;
      } catch {
        return `code_challenge_methods_supported: ${quoted(server.code_challenge_methods_supported)}`;
      }
    },
  },
];
