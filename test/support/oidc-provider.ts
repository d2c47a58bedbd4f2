import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider, type Configuration } from 'oidc-provider';

/** A real authorization server on loopback. Anybody can log in with any name. */
export interface AuthorizationServer {
  readonly issuer: string;
  readonly provider: Provider;
  /** The requested paths. */
  readonly asked: string[];
  close(): Promise<void>;
}

/**
 * @param scopes the scopes that tokens for a resource can have
 * @param mcp answers requests to `/mcp` at the same origin, as in 2025-03-26
 */
export async function startAuthorizationServer(
  scopes: string,
  configuration: Configuration = {},
  mcp?: RequestListener,
): Promise<AuthorizationServer> {
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    pkce: { required: () => true },
    ...configuration,
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      clientCredentials: { enabled: true },
      dPoP: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, resource) => ({
          scope: scopes,
          audience: resource,
          accessTokenFormat: 'jwt',
          accessTokenTTL: 600,
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
      ...configuration.features,
    },
  });
  const asked: string[] = [];
  const answer = provider.callback();
  http.on('request', (request, response) => {
    asked.push(request.url!.replace(/\?.*$/, ''));
    if (mcp && request.url === '/mcp') mcp(request, response);
    else void answer(request, response);
  });
  const close = async (): Promise<void> => {
    http.closeAllConnections();
    await new Promise((resolve) => void http.close(resolve));
  };
  return { issuer, provider, asked, close };
}

/** A user with a browser, who logs in, agrees, and follows all redirects. Resolves when a page shows text. */
export async function browse(url: URL, login = 'alice'): Promise<string> {
  const cookies = new Map<string, string>();
  let at = url;
  let form: URLSearchParams | undefined;
  for (let step = 0; step < 20; step++) {
    const response = await fetch(at, {
      method: form ? 'POST' : 'GET',
      redirect: 'manual',
      headers: { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') },
      ...(form && { body: form }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!;
      cookies.set(name!, value!);
    }
    form = undefined;
    const location = response.headers.get('location');
    const page = await response.text();
    const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
    if (location !== null) at = new URL(location, at);
    else if (action !== undefined) {
      at = new URL(action, at);
      form = new URLSearchParams({ prompt: /name="prompt" value="(\w+)"/.exec(page)![1]!, login, password: 'any' });
    } else return page;
  }
  throw new Error('the browser goes round in circles');
}
