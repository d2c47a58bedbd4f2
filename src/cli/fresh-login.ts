import { dropOthers } from '../auth/client/acquisition.ts';
import { lockedSoon } from '../auth/client/locked-soon.ts';
import { serverKey } from '../auth/client/log-out.ts';
import type { RedirectHandler } from '../auth/client/redirect.ts';
import { MemoryTokenStore, type StoredTokens } from '../auth/client/token-store.ts';
import type { Authorizer } from '../transport/http/client/authorizer.ts';
import { inBrowser, type LoginPrinter, type LoginServer } from './browser-login.ts';
import { loginBy, tokenStore } from './login.ts';

/**
 * A login that happens in any case. Its tokens replace the stored ones when it has succeeded. The client is stored with
 * them: to refresh the tokens, other processes need it, and its secret.
 */
export interface FreshLogin {
  /** Sends no stored token, so that a server that requires a login says so. */
  readonly authorizer: Authorizer;
  /**
   * Logs in if that has not happened yet, because the server does not require it. Then stores the tokens.
   *
   * @throws OAuthError `discovery` if the server names no authorization server.
   */
  finish(signal: AbortSignal): Promise<StoredLogin>;
}

/** Who granted what. */
export interface StoredLogin {
  readonly issuer: string;
  readonly tokens: StoredTokens;
}

/** @param open opens the URL in a browser. Resolves with whether that worked. */
export async function freshLogin(
  server: LoginServer,
  printer: LoginPrinter,
  open: (url: URL) => Promise<boolean>,
): Promise<FreshLogin> {
  const key = serverKey(server.url);
  const stored = tokenStore();
  const fresh = new MemoryTokenStore();
  const { clientId, clientSecret } = server.oauth ?? {};
  // 2026-07-28, client-registration: Authorization Server Binding.
  let boundTo: string | undefined;
  for (const issuer of await stored.issuers(key)) {
    const { client, tokens } = (await stored.get({ server: key, issuer })) ?? {};
    if (client) await fresh.set({ server: key, issuer }, { client });
    if (clientId !== undefined && tokens?.clientId === clientId) boundTo = issuer;
  }
  const browser = inBrowser(server, printer, open);
  let redirectUri = '';
  const start: RedirectHandler['start'] = async (registered) => {
    const login = await browser.start(registered);
    ({ redirectUri } = login);
    return login;
  };
  const obtained = async (): Promise<StoredLogin | undefined> => {
    for (const issuer of await fresh.issuers(key)) {
      const { tokens } = (await fresh.get({ server: key, issuer })) ?? {};
      if (tokens) return { issuer, tokens };
    }
    return undefined;
  };
  return {
    authorizer: loginBy({ start }, server, { store: fresh, issuer: boundTo }),
    finish: async (signal) => {
      if (!(await obtained())) {
        const request = { method: 'POST', url: new URL(key), headers: {} } as const;
        const challenge = { status: 401, header: () => undefined };
        await loginBy({ start }, server, { store: fresh, legacy: false, issuer: boundTo }).refused(
          request,
          challenge,
          signal,
        );
      }
      const login = (await obtained())!;
      const at = { server: key, issuer: login.issuer };
      const client =
        clientId === undefined
          ? (await fresh.get(at))?.client
          : { clientId, ...(clientSecret !== undefined && { clientSecret }), redirectUris: [redirectUri] };
      await lockedSoon(stored, at, async () => {
        await dropOthers(stored, at);
        await stored.set(at, { ...(client && { client }), tokens: login.tokens });
      });
      return login;
    },
  };
}
