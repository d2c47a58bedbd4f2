import { isStrings } from '../../../jsonrpc/message.ts';
import { clauses, notApplicable, type CheckRule, type Judgement } from '../check-rule.ts';
import { objectIn } from '../exchange-log.ts';
import { repliesOf, type Facts } from '../facts.ts';
import { COMMUNICATION, PKCE } from './discovery.ts';
import { isSecure, quoted } from './values.ts';

const REGISTRATION = clauses(
  'dynamic-client-registration',
  'dynamic-client-registration',
  'dynamic-client-registration',
  'client-registration#dynamic-client-registration',
);
const RESOURCE = clauses(
  undefined,
  'resource-parameter-implementation',
  'resource-parameter-implementation',
  'resource-parameter-implementation',
);
const MIX_UP = clauses(
  'implementation-requirements',
  'security-considerations',
  'security-considerations',
  'authorization-response-validation',
);
const OPEN_REDIRECTION = clauses(
  'implementation-requirements',
  'open-redirection',
  'open-redirection',
  'security-considerations#open-redirection',
);
const NO_ANSWER = notApplicable('nothing came back to the redirect URI');
const NO_REQUEST = notApplicable('no authorization request was made');

/** Judges the response to a dynamic registration. */
function registered(
  facts: Facts,
  judge: (members: Record<string, unknown>, status: number) => Judgement,
  ifRefused: Judgement = notApplicable('the client was not registered'),
): Judgement {
  if (facts.registeredBy !== 'dynamic') return notApplicable('the client was not registered dynamically');
  const reply = repliesOf(facts).at(-1);
  const body = objectIn(reply);
  if (!reply || reply.status >= 300 || typeof body?.['client_id'] !== 'string') return ifRefused;
  return judge(body, reply.status);
}

/** Judges the parameters of the authorization request. */
function requested({ parameters }: Facts, judge: (parameters: URLSearchParams) => Judgement): Judgement {
  return parameters ? judge(parameters) : NO_REQUEST;
}

export const LOGIN_CHECKS: readonly CheckRule[] = [
  {
    id: 'registration-accepted',
    step: 'registration',
    level: 'must',
    clauses: REGISTRATION,
    rfc: 'RFC 7591, section 3.2.1',
    right: 'The registration endpoint registers a client with a redirect URI on 127.0.0.1.',
    judge(facts) {
      const reply = repliesOf(facts).at(-1);
      const { error, error_description: why } = objectIn(reply) ?? {};
      const seen = `status ${reply?.status}${error === undefined ? '' : `: ${quoted(error)}`}`;
      return registered(
        facts,
        () => true,
        reply ? (why === undefined ? seen : `${seen}, ${quoted(why)}`) : 'no response',
      );
    },
  },
  {
    id: 'registration-status',
    step: 'registration',
    level: 'should',
    clauses: REGISTRATION,
    rfc: 'RFC 7591, section 3.2.1',
    right: 'A registration is answered with status 201.',
    judge: (facts) => registered(facts, (_, status) => (status === 201 ? true : `status ${status}`)),
  },
  {
    id: 'registration-error',
    step: 'registration',
    level: 'must',
    clauses: REGISTRATION,
    rfc: 'RFC 7591, section 3.2.2',
    right: 'A refused registration is answered with status 400 and a JSON object that has the member "error".',
    judge(facts) {
      const reply = repliesOf(facts).at(-1);
      const body = objectIn(reply);
      const isError = reply?.status === 400 && typeof body?.['error'] === 'string';
      const seen = isError ? true : `status ${reply?.status}, error: ${quoted(body?.['error'])}`;
      return registered(facts, () => notApplicable('the client was registered'), reply ? seen : NO_ANSWER);
    },
  },
  {
    id: 'registration-redirect-uris',
    step: 'registration',
    level: 'must',
    clauses: REGISTRATION,
    rfc: 'RFC 7591, section 3.2.1',
    right: 'The response has the redirect URIs that were registered, as they were sent.',
    judge: (facts) =>
      registered(facts, ({ redirect_uris: uris }) =>
        isStrings(uris) && uris.includes(facts.redirectUri!) ? true : `redirect_uris: ${quoted(uris)}`,
      ),
  },
  {
    id: 'registration-secret-expiry',
    step: 'registration',
    level: 'must',
    clauses: REGISTRATION,
    rfc: 'RFC 7591, section 3.2.1',
    right: 'A response with a client_secret says in client_secret_expires_at how long it is valid; 0 means for ever.',
    judge: (facts) =>
      registered(facts, ({ client_secret: secret, client_secret_expires_at: ends }) => {
        if (secret === undefined) return notApplicable('the client has no secret');
        return typeof ends === 'number' ? true : `client_secret_expires_at: ${quoted(ends)}`;
      }),
  },
  {
    id: 'client-document',
    step: 'registration',
    level: 'must',
    clauses: clauses(
      undefined,
      undefined,
      'implementation-requirements',
      'client-registration#implementation-requirements',
    ),
    rfc: 'draft-ietf-oauth-client-id-metadata-document-00, section 4',
    right: 'The Client ID Metadata Document has its own address as client_id, a client_name, and the redirect URI.',
    judge(facts) {
      if (facts.registeredBy !== 'document') return notApplicable('no Client ID Metadata Document is used');
      const { client_id: id, client_name: name, redirect_uris: uris } = objectIn(repliesOf(facts).at(-1)) ?? {};
      const wrong = [
        ...(id === facts.client?.clientId ? [] : [`client_id: ${quoted(id)}`]),
        ...(typeof name === 'string' ? [] : [`client_name: ${quoted(name)}`]),
        ...(isStrings(uris) && uris.includes(facts.redirectUri!) ? [] : [`redirect_uris: ${quoted(uris)}`]),
      ];
      return wrong.length === 0 ? true : wrong.join(', ');
    },
  },
  {
    id: 'request-challenge',
    step: 'authorization-request',
    level: 'must',
    clauses: PKCE,
    rfc: 'RFC 7636, section 4.3',
    right: 'The request has a code_challenge, and S256 as its method.',
    judge: (facts) =>
      requested(facts, (parameters) => {
        const method = parameters.get('code_challenge_method');
        return parameters.has('code_challenge') && method === 'S256'
          ? true
          : `code_challenge_method: ${quoted(method)}`;
      }),
  },
  {
    id: 'request-resource',
    step: 'authorization-request',
    level: 'must',
    clauses: RESOURCE,
    rfc: 'RFC 8707, section 2',
    right: 'The request names the server in the parameter "resource".',
    judge: (facts) =>
      requested(facts, (parameters) =>
        parameters.get('resource') === facts.resource ? true : `resource: ${quoted(parameters.get('resource'))}`,
      ),
  },
  {
    id: 'request-state',
    step: 'authorization-request',
    level: 'should',
    clauses: OPEN_REDIRECTION,
    rfc: 'RFC 6749, section 10.12',
    right: 'The request has a state that nobody can guess.',
    judge: (facts) => requested(facts, (parameters) => (parameters.get('state') ? true : 'there is no state')),
  },
  {
    id: 'request-redirect-uri',
    step: 'authorization-request',
    level: 'must',
    clauses: COMMUNICATION,
    right: 'The redirect URI uses https, or leads to this machine.',
    judge: (facts) =>
      requested(facts, (parameters) => {
        const uri = parameters.get('redirect_uri');
        return isSecure(uri) ? true : `redirect_uri: ${quoted(uri)}`;
      }),
  },
  {
    id: 'callback-received',
    step: 'callback',
    level: 'must',
    rfc: 'RFC 6749, section 4.1.2',
    right: 'The authorization server sends the browser back to the redirect URI, also after an error.',
    judge: ({ answer }) => (answer ? true : 'nothing came back to the redirect URI'),
  },
  {
    id: 'callback-state',
    step: 'callback',
    level: 'must',
    clauses: OPEN_REDIRECTION,
    rfc: 'RFC 6749, section 4.1.2',
    right: 'The state of the callback is exactly the one of the request.',
    judge({ answer, parameters }) {
      if (!answer) return NO_ANSWER;
      const got = answer.getAll('state');
      if (got.length === 1 && got[0] === parameters?.get('state')) return true;
      return got.length === 0 ? 'there is no state' : `state: ${quoted(got.join(', '))}`;
    },
  },
  {
    id: 'callback-issuer',
    step: 'callback',
    level: 'must',
    clauses: MIX_UP,
    rfc: 'RFC 9207, section 2.4',
    right: 'If the callback has iss, it is exactly the issuer of the authorization server.',
    judge({ answer, server }) {
      if (!answer) return NO_ANSWER;
      const got = answer.getAll('iss');
      if (got.length === 0) return notApplicable('there is no iss');
      return got.length === 1 && got[0] === server?.issuer ? true : `iss: ${quoted(got.join(', '))}`;
    },
  },
  {
    id: 'callback-issuer-kept',
    step: 'callback',
    level: 'must',
    clauses: MIX_UP,
    rfc: 'RFC 9207, section 2.3',
    right: 'If the metadata says authorization_response_iss_parameter_supported, the callback has iss.',
    judge({ answer, server }) {
      if (!answer) return NO_ANSWER;
      if (server?.authorization_response_iss_parameter_supported !== true)
        return notApplicable('the metadata does not promise iss');
      return answer.has('iss') ? true : 'there is no iss';
    },
  },
  {
    id: 'callback-issuer-sent',
    step: 'callback',
    level: 'should',
    clauses: clauses(undefined, undefined, undefined, 'authorization-response-validation'),
    rfc: 'RFC 9207, section 2',
    right: 'The callback has iss.',
    judge({ answer, server }) {
      if (!answer) return NO_ANSWER;
      if (answer.has('iss')) return true;
      const isPromised = server?.authorization_response_iss_parameter_supported === true;
      return isPromised ? notApplicable('the metadata promises iss') : 'there is no iss';
    },
  },
  {
    id: 'callback-issuer-promised',
    step: 'callback',
    level: 'must',
    clauses: clauses(undefined, undefined, undefined, 'authorization-response-validation'),
    rfc: 'RFC 9207, section 2.3',
    right: 'A server that sends iss says so in its metadata: authorization_response_iss_parameter_supported.',
    judge({ answer, server }) {
      if (!answer?.has('iss')) return notApplicable('there is no iss');
      const promised = server?.authorization_response_iss_parameter_supported;
      return promised === true ? true : `authorization_response_iss_parameter_supported: ${quoted(promised)}`;
    },
  },
  {
    id: 'callback-code',
    step: 'callback',
    level: 'must',
    rfc: 'RFC 6749, sections 4.1.2 and 4.1.2.1',
    right: 'The callback has a code.',
    judge({ answer, server }) {
      if (!answer) return NO_ANSWER;
      if (answer.get('code')) return true;
      // What another issuer says is not shown (2026-07-28, Authorization Response Validation).
      if (answer.has('iss') && answer.get('iss') !== server?.issuer) return 'there is no code';
      return answer.has('error')
        ? `error: ${quoted(answer.get('error'))}, ${quoted(answer.get('error_description'))}`
        : 'there is no code';
    },
  },
];
