import { isInsufficientScope, parameterIn, parseChallenges } from '../../../transport/http/client/www-authenticate.ts';
import { authMethodOf } from '../../client/client-authentication.ts';
import { TOKEN } from '../../client/token-endpoint.ts';
import { clauses, notApplicable, type CheckRule, type Judgement } from '../check-rule.ts';
import { objectIn, type Reply } from '../exchange-log.ts';
import { repliesOf, type Facts } from '../facts.ts';
import { declaresJson, quoted } from './values.ts';

const USE = clauses('token-handling', 'token-handling', 'token-handling', 'token-handling');
const INSUFFICIENT = clauses(
  'error-handling',
  'error-handling',
  'runtime-insufficient-scope-errors',
  'runtime-insufficient-scope-errors',
);
const THEFT = clauses(
  'implementation-requirements',
  'token-theft',
  'token-theft',
  'security-considerations#token-theft',
);

/** Judges the last response of a token endpoint. */
function issued(facts: Facts, judge: (members: Record<string, unknown>, reply: Reply) => Judgement): Judgement {
  const reply = repliesOf(facts).at(-1);
  if (!reply) return notApplicable('there is no response');
  const body = objectIn(reply);
  if (reply.status !== 200 || !body) return notApplicable('no token was issued');
  return judge(body, reply);
}

/** Right if the last response of a token endpoint has tokens. */
function wasIssued(facts: Facts): Judgement {
  const reply = repliesOf(facts).at(-1);
  return reply?.status === 200 && objectIn(reply) ? true : errorOf(reply);
}

/** Judges a response that says that scopes are missing. */
function forbidden({ forbidden: reply }: Facts, judge: (reply: Reply) => Judgement): Judgement {
  return reply ? judge(reply) : notApplicable('no request was refused with status 403');
}

function challengesOf({ headers }: Reply): ReturnType<typeof parseChallenges> {
  return parseChallenges(headers['www-authenticate']);
}

function errorOf(reply: Reply | undefined): string {
  const error = objectIn(reply)?.['error'];
  return reply ? `status ${reply.status}${error === undefined ? '' : `: ${quoted(error)}`}` : 'no response';
}

export const USE_CHECKS: readonly CheckRule[] = [
  {
    id: 'token-issued',
    step: 'token',
    level: 'must',
    rfc: 'RFC 6749, section 5.1',
    right: 'The token endpoint exchanges the code for tokens, with status 200 and a JSON object.',
    judge: wasIssued,
  },
  {
    id: 'token-content-type',
    step: 'token',
    level: 'must',
    rfc: 'RFC 6749, section 5.1',
    right: 'The token response has the content type application/json.',
    judge: (facts) => issued(facts, (_, reply) => declaresJson(reply)),
  },
  {
    id: 'token-not-stored',
    step: 'token',
    level: 'must',
    rfc: 'RFC 6749, section 5.1',
    right: 'The token response forbids caches to store it: Cache-Control has no-store.',
    judge: (facts) =>
      issued(facts, (_, { headers: { 'cache-control': control } }) =>
        /\bno-store\b/i.test(control ?? '') ? true : `cache-control: ${control ?? 'none'}`,
      ),
  },
  {
    id: 'access-token',
    step: 'token',
    level: 'must',
    rfc: 'RFC 6749, section 5.1 and appendix A.12',
    right: 'The response has an access_token of printable ASCII characters.',
    judge: (facts) =>
      issued(facts, ({ access_token: token }) => {
        if (typeof token !== 'string') return `access_token: ${token === undefined ? 'nothing' : typeof token}`;
        return TOKEN.test(token) ? true : 'the token has other characters';
      }),
  },
  {
    id: 'token-type',
    step: 'token',
    level: 'must',
    clauses: clauses('token-requirements', 'token-requirements', 'token-requirements', 'token-requirements'),
    rfc: 'RFC 6749, sections 5.1 and 7.1',
    right: 'The token_type of the response is Bearer, or DPoP if the token is bound to a key.',
    judge: (facts) =>
      issued(facts, ({ token_type: type }) =>
        typeof type === 'string' && /^(?:bearer|dpop)$/i.test(type) ? true : `token_type: ${quoted(type)}`,
      ),
  },
  {
    id: 'token-lifetime',
    step: 'token',
    level: 'should',
    clauses: THEFT,
    rfc: 'RFC 6749, section 5.1',
    right: 'The response says in expires_in how many seconds the token is valid.',
    judge: (facts) =>
      issued(facts, ({ expires_in: lifetime }) =>
        typeof lifetime === 'number' && lifetime > 0 ? true : `expires_in: ${quoted(lifetime)}`,
      ),
  },
  {
    id: 'token-audience',
    step: 'token',
    level: 'should',
    clauses: clauses(
      undefined,
      'token-audience-binding-and-validation',
      'token-audience-binding-and-validation',
      'security-considerations#token-audience-binding-and-validation',
    ),
    rfc: 'RFC 8707, section 2',
    right: 'A token that is a JWT names the requested resource in aud.',
    judge({ audience, resource }) {
      if (!audience) return notApplicable('the token is no JWT with aud, so only the server can read its audience');
      return isFor(audience, resource) ? true : `aud: ${quoted(audience)}`;
    },
  },
  {
    id: 'token-accepted',
    step: 'first-request',
    level: 'must',
    clauses: USE,
    rfc: 'RFC 6750, section 3.1',
    right: 'The server accepts a token that was issued for it.',
    judge({ accepted }) {
      if (!accepted) return 'no response';
      const why = accepted.headers['www-authenticate'];
      if (accepted.status === 401) return `status 401${why === undefined ? '' : `, WWW-Authenticate: ${why}`}`;
      if (accepted.status >= 500) return `status ${accepted.status}`;
      return accepted.status === 403 ? notApplicable('status 403: see the step-up') : true;
    },
  },
  {
    id: 'audience-checked',
    step: 'first-request',
    level: 'must',
    clauses: clauses(undefined, 'token-handling', 'token-handling', 'token-handling'),
    rfc: 'RFC 8707, section 2; RFC 9068, section 4',
    right: 'The server refuses tokens that were issued for another resource.',
    judge({ accepted, audience, resource }) {
      if (!audience) return notApplicable('the audience of the token is not known');
      if (isFor(audience, resource)) return notApplicable('the token was issued for this server');
      if (!accepted || accepted.status >= 300) return accepted?.status === 401 ? true : notApplicable('not accepted');
      return `status ${accepted.status} with a token for ${quoted(audience)}`;
    },
  },
  {
    id: 'invalid-token-refused',
    step: 'first-request',
    level: 'must',
    clauses: USE,
    rfc: 'RFC 6750, section 3.1',
    right: 'The server answers a request with an invalid token with status 401.',
    judge({ invalid }) {
      if (!invalid) return 'no response';
      return invalid.status === 401 ? true : `status ${invalid.status}`;
    },
  },
  {
    id: 'invalid-token-error',
    step: 'first-request',
    level: 'should',
    clauses: USE,
    rfc: 'RFC 6750, section 3.1',
    right: 'The challenge for an invalid token has error="invalid_token".',
    judge({ invalid }) {
      if (invalid?.status !== 401) return notApplicable('there is no 401 response');
      const error = parameterIn(challengesOf(invalid), 'error');
      return error === 'invalid_token' ? true : `error: ${quoted(error)}`;
    },
  },
  {
    id: 'refresh-accepted',
    step: 'refresh',
    level: 'must',
    rfc: 'RFC 6749, section 6',
    right: 'The token endpoint accepts the refresh token that it has issued.',
    judge: wasIssued,
  },
  {
    id: 'refresh-token-rotated',
    step: 'refresh',
    level: 'must',
    shouldIn: ['2025-03-26'],
    clauses: THEFT,
    rfc: 'RFC 9700, section 4.14.2',
    right: 'A public client gets another refresh token with each refresh.',
    judge(facts) {
      const { client, server, tokens, usedRefreshToken, nextRefreshToken } = facts;
      if (!client || !server || authMethodOf(client, server) !== 'none')
        return notApplicable('the client is not public: it authenticates');
      if (tokens?.tokenType === 'DPoP') return notApplicable('the tokens are bound to a key');
      return issued(facts, () => {
        if (nextRefreshToken === undefined) return 'the response has no refresh token';
        return nextRefreshToken === usedRefreshToken ? 'the same refresh token again' : true;
      });
    },
  },
  {
    id: 'insufficient-scope-error',
    step: 'step-up',
    level: 'should',
    clauses: INSUFFICIENT,
    rfc: 'RFC 6750, section 3.1',
    right: 'A response with status 403 has a challenge with error="insufficient_scope".',
    judge: (facts) =>
      forbidden(facts, (reply) => {
        if (isInsufficientScope(challengesOf(reply))) return true;
        return `WWW-Authenticate: ${reply.headers['www-authenticate'] ?? 'none'}`;
      }),
  },
  {
    id: 'insufficient-scope-scopes',
    step: 'step-up',
    level: 'should',
    clauses: clauses(undefined, undefined, 'runtime-insufficient-scope-errors', 'runtime-insufficient-scope-errors'),
    rfc: 'RFC 6750, section 3.1',
    right: 'The challenge names the scopes that the request needs.',
    judge: (facts) =>
      forbidden(facts, (reply) =>
        parameterIn(challengesOf(reply), 'scope') === undefined ? 'there is no scope' : true,
      ),
  },
  {
    id: 'insufficient-scope-metadata',
    step: 'step-up',
    level: 'should',
    clauses: clauses(undefined, undefined, 'runtime-insufficient-scope-errors', 'runtime-insufficient-scope-errors'),
    rfc: 'RFC 9728, section 5.1',
    right: 'The challenge names the protected-resource metadata, as a 401 response does.',
    judge: (facts) =>
      forbidden(facts, (reply) =>
        parameterIn(challengesOf(reply), 'resource_metadata') === undefined ? 'there is no resource_metadata' : true,
      ),
  },
  {
    id: 'step-up-accepted',
    step: 'step-up',
    level: 'must',
    clauses: clauses(undefined, undefined, 'step-up-authorization-flow', 'step-up-authorization-flow'),
    rfc: 'RFC 6750, section 3.1',
    right: 'With a token that has the required scopes, the server accepts the request.',
    judge({ retried }) {
      if (!retried) return notApplicable('the request was not repeated');
      return retried.status === 401 || retried.status === 403 ? `status ${retried.status}` : true;
    },
  },
  {
    id: 'revocation-accepted',
    step: 'revocation',
    level: 'must',
    rfc: 'RFC 7009, section 2.2',
    right:
      'The revocation endpoint answers with status 200. For an access token, it may answer unsupported_token_type instead.',
    judge({ exchanges }) {
      const wrong = exchanges.filter(({ reply, body }) => {
        const isUnsupported = objectIn(reply)?.['error'] === 'unsupported_token_type';
        return reply?.status !== 200 && !(isUnsupported && body?.includes('token_type_hint=access_token'));
      });
      return wrong.length === 0 ? true : wrong.map(({ reply, problem }) => problem ?? errorOf(reply)).join(', ');
    },
  },
];

/** Whether a token is for a resource. A slash at its end makes no difference. */
function isFor(audience: readonly string[], resource: string): boolean {
  const plain = (uri: string): string => uri.replace(/\/$/, '');
  return audience.some((each) => plain(each) === plain(resource));
}
