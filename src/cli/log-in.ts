import { OAuthError } from '../auth/client/oauth-error.ts';
import { openBrowser } from '../auth/client/open-browser.ts';
import type { StoredTokens } from '../auth/client/token-store.ts';
import { printableLine } from '../base/printable.ts';
import type { UrlServer } from '../bridge/config/config.ts';
import { detailOf } from './choices.ts';
import { ExitCode, Failure } from './failure.ts';
import type { LoginFlags } from './options.ts';
import { freshLogin, type FreshLogin } from './fresh-login.ts';
import { withClient } from './with-client.ts';

/** Time limit for a response, in milliseconds. The time of the login does not count. */
const TIMEOUT = 60_000;

/** `everwire login`: logs in to a server, whether or not tokens are stored, and stores the new ones. */
export async function logIn(server: UrlServer, { open, ...flags }: LoginFlags): Promise<void> {
  let login: FreshLogin | undefined;
  await withClient(
    server,
    { ...flags, login: true, timeout: TIMEOUT, logLevel: 'warning', root: [] },
    async ({ output, signal }) => {
      const { issuer, tokens } = await login!.finish(signal).catch((error: unknown) => {
        if (!(error instanceof OAuthError) || error.code !== 'discovery') throw error;
        const message = `${detailOf(server)} requires no login: ${error.message}`;
        throw new Failure(ExitCode.Refused, message, { cause: error });
      });
      const lines = [`Logged in to ${detailOf(server)}.`, `${issuer} granted ${grantOf(tokens)}.`, lifetimeOf(tokens)];
      await output.text(lines.map((line) => printableLine(line)).join('\n'));
    },
    async (_, printer) => {
      login = await freshLogin(server, printer, open ? openBrowser : () => Promise.resolve(true));
      return login.authorizer;
    },
  );
}

function grantOf({ scopes, grantedScopes = scopes }: StoredTokens): string {
  return grantedScopes.length === 0 ? 'access, without naming scopes' : grantedScopes.join(', ');
}

function lifetimeOf({ expiresAt, refreshToken }: StoredTokens): string {
  if (expiresAt === undefined) return 'It does not say until when.';
  const renewal = refreshToken === undefined ? 'Then log in again.' : 'After that, it is renewed without a login.';
  return `Valid until ${timeOf(expiresAt)}. ${renewal}`;
}

/** `2026-07-28 12:00:00 UTC` */
export function timeOf(time: number): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? 'the far future' : date.toISOString().replace(/T(.*)\..*/, ' $1 UTC');
}
