import { revokeTokens } from '../auth/client/revocation.ts';
import type { CredentialKey, StoredCredentials } from '../auth/client/token-store.ts';
import { scrubber } from '../auth/scrub.ts';
import type { UrlServer } from '../bridge/config/config.ts';
import { detailOf } from './choices.ts';
import { ExitCode, Failure, reportFailure } from './failure.ts';
import { timeOf } from './log-in.ts';
import { lockedSoon } from './fresh-login.ts';
import { serverKey, tokenStore } from './login.ts';
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
  const store = tokenStore();
  const key = serverKey(server);
  const deleted: [CredentialKey, StoredCredentials][] = [];
  for (const issuer of await store.issuers(key)) {
    const at = { server: key, issuer };
    await lockedSoon(store, at, async () => {
      const credentials = await store.get(at);
      await store.delete(at);
      if (credentials?.tokens) deleted.push([at, credentials]);
    });
  }
  if (deleted.length === 0) throw new Failure(ExitCode.Refused, `no login is stored for ${detailOf(server)}`);
  const output = new Output({});
  await output.text(`Logged out of ${detailOf(server)}. The tokens are deleted.`);
  for (const [at, credentials] of deleted) {
    const problem = await revoked(server, at, credentials);
    if (problem === undefined) await output.line(`${at.issuer} has revoked them.`);
    else printStatus(problem);
  }
}

/** Revokes tokens. @returns why that was not possible. */
async function revoked(
  { oauth: { clientId, clientSecret } = {} }: UrlServer,
  at: CredentialKey,
  { client, tokens }: StoredCredentials,
): Promise<string | undefined> {
  const { clientId: issuedTo, expiresAt } = tokens!;
  const known = [client, clientId === undefined ? undefined : { clientId, clientSecret }];
  const identity = known.find((each) => each?.clientId === issuedTo) ?? { clientId: issuedTo };
  try {
    await revokeTokens(at, tokens!, identity);
    return undefined;
  } catch (error) {
    const until = expiresAt === undefined ? '' : ` The access token is valid until ${timeOf(expiresAt)}.`;
    return `not all tokens were revoked: ${(error as Error).message}.${until}`;
  }
}
