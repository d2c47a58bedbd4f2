import { isInsufficientScope, parameterIn, parseChallenges } from '../../transport/http/client/www-authenticate.ts';
import { revokeAt } from '../client/revocation.ts';
import { scopesIn } from '../client/scopes.ts';
import { requestToken } from '../client/token-endpoint.ts';
import type { Reply } from './exchange-log.ts';
import { logInAgain, tokenContext } from './login-steps.ts';
import { ask, call, endSession, firstMessage, invalidToken } from './server-request.ts';
import { done, skipped, type StepEnd, type Walk } from './walk.ts';

/** The same request as at the beginning, with the token, and with a token that nobody has issued. */
export async function useToken(walk: Walk): Promise<StepEnd> {
  const { facts } = walk;
  const { accessToken } = facts.tokens!;
  facts.accepted = await ask(walk, firstMessage(walk), accessToken);
  await endSession(walk, facts.accepted, accessToken);
  facts.invalid = await ask(walk, firstMessage(walk), invalidToken(accessToken));
  await endSession(walk, facts.invalid, undefined);
  if (facts.accepted.status === 403) facts.forbidden = facts.accepted;
  return done(
    `The server answers with status ${facts.accepted.status}, and to an invalid token with ${facts.invalid.status}.`,
  );
}

export async function refreshTokens(walk: Walk): Promise<StepEnd> {
  const { facts } = walk;
  const { refreshToken } = facts.tokens!;
  if (refreshToken === undefined) return skipped('The authorization server has issued no refresh token.');
  facts.usedRefreshToken = refreshToken;
  const resource = facts.parameters?.get('resource');
  // The server replaces a refresh token when it is used, so its answer is needed in any case.
  const context = { ...tokenContext(walk), signal: undefined };
  const parameters = { refresh_token: refreshToken, ...(resource && { resource }) };
  const issued = await requestToken(context, 'refresh_token', parameters);
  facts.nextRefreshToken = issued.refreshToken;
  walk.hold({ ...issued, refreshToken: issued.refreshToken ?? refreshToken });
  walk.granted.push(facts.tokens!);
  return done('The client has a new access token.');
}

export async function stepUp(walk: Walk): Promise<StepEnd> {
  const { facts, options } = walk;
  if (!facts.forbidden && options.call) {
    const reply = await call(walk, facts.tokens!.accessToken);
    if (reply.status === 403) facts.forbidden = reply;
    else return skipped(`The server answers the call with status ${reply.status}, so no more scopes are needed.`);
  }
  if (!facts.forbidden) return skipped('No request was refused for its scopes. A call that needs more can be named.');
  const scopes = missingIn(facts.forbidden);
  if (!scopes) return done('The challenge does not say which scopes are missing, so the client does not log in again.');
  const repeat = facts.accepted === facts.forbidden ? ask : undefined;
  await logInAgain(walk, scopes);
  const { accessToken } = facts.tokens!;
  facts.retried = repeat ? await ask(walk, firstMessage(walk), accessToken) : await call(walk, accessToken);
  return done(`With the scopes ${walk.scopes.join(' ')}, the server answers with status ${facts.retried.status}.`);
}

/** The scopes that a response asks for. */
function missingIn({ headers }: Reply): readonly string[] | undefined {
  const challenges = parseChallenges(headers['www-authenticate']);
  return isInsufficientScope(challenges) ? scopesIn(parameterIn(challenges, 'scope')) : undefined;
}

export async function revoke(walk: Walk): Promise<StepEnd> {
  const { facts, http, server, granted } = walk;
  if (server.revocation_endpoint === undefined)
    return skipped('The authorization server has no revocation endpoint, so the tokens stay valid until they expire.');
  // A later grant of the same client may depend on an earlier one.
  for (const tokens of granted.toReversed()) await revokeAt(server, tokens, facts.client!, http);
  return done('The tokens are revoked.');
}
