// #region oauth
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { UnauthorizedError, type OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';

/** Connects as a user. `open` shows the URL of the login to the user. */
export async function connectAsUser(url: string, open: (login: URL) => void): Promise<Client> {
  let redirected!: (code: string) => void;
  const code = new Promise<string>((resolve) => (redirected = resolve));
  const listener = createServer((request, response) => {
    redirected(new URL(request.url!, 'http://localhost').searchParams.get('code') ?? '');
    response.end('You may close this page.');
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const redirectUrl = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/callback`;

  let information: OAuthClientInformationMixed | undefined;
  let tokens: OAuthTokens | undefined;
  let verifier = '';
  const authProvider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: { client_name: 'Reader', redirect_uris: [redirectUrl], grant_types: ['authorization_code'] },
    clientInformation: () => information,
    saveClientInformation: (given) => void (information = given),
    tokens: () => tokens,
    saveTokens: (given) => void (tokens = given),
    saveCodeVerifier: (given) => void (verifier = given),
    codeVerifier: () => verifier,
    redirectToAuthorization: (login) => open(login),
  };

  const connect = async () => {
    const client = new Client({ name: 'reader', version: '1.0.0' });
    const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
    try {
      await client.connect(transport);
      return client;
    } catch (error) {
      if (!(error instanceof UnauthorizedError)) throw error;
      await transport.finishAuth(await code);
      return undefined;
    }
  };
  try {
    return (await connect()) ?? (await connect())!;
  } finally {
    listener.close();
  }
}
// #endregion oauth
