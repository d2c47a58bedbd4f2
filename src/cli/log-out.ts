import { logOut as logOutOf, type LoggedOut } from '../auth/client/log-out.ts';
import { scrubber } from '../auth/scrub.ts';
import type { UrlServer } from '../bridge/config/config.ts';
import { detailOf } from './choices.ts';
import { ExitCode, Failure, reportFailure } from './failure.ts';
import { timeOf } from './log-in.ts';
import { tokenStore } from './login.ts';
import { Output } from './output.ts';
import { printStatus, scrubWith } from './print-status.ts';
import { secretsOf } from './secrets.ts';
import { stop } from './shutdown.ts';

/** `everwire logout`: deletes the tokens of a server and its registered clients, and revokes the tokens. */
export async function logOut(server: UrlServer): Promise<void> {
  scrubWith(scrubber(secretsOf(server)));
  try {
    await deleteAll(server);
  } catch (error) {
    reportFailure(error);
  }
  void stop();
}

async function deleteAll(server: UrlServer): Promise<void> {
  const { clientId, clientSecret } = server.oauth ?? {};
  const client = clientId === undefined ? undefined : { clientId, clientSecret };
  const loggedOut = await logOutOf({ server: server.url, store: tokenStore(), client });
  if (loggedOut.length === 0) throw new Failure(ExitCode.Refused, `no login is stored for ${detailOf(server)}`);
  const output = new Output({});
  await output.text(`Logged out of ${detailOf(server)}. The tokens are deleted.`);
  for (const each of loggedOut) {
    if (each.error) printStatus(notRevoked(each.error, each));
    else await output.line(`${each.issuer} has revoked ${revoked(each)}`);
  }
}

function revoked({ accessTokenLasts, expiresAt }: LoggedOut): string {
  if (!accessTokenLasts) return 'them.';
  const end = expiresAt === undefined ? 'it expires' : timeOf(expiresAt);
  return `the refresh token. The access token cannot be revoked, and lasts until ${end}.`;
}

function notRevoked({ message }: Error, { expiresAt }: LoggedOut): string {
  const until = expiresAt === undefined ? '' : ` The access token is valid until ${timeOf(expiresAt)}.`;
  return `not all tokens were revoked: ${message}.${until}`;
}
