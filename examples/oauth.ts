import { homedir } from 'node:os';
import path from 'node:path';
import { authorizedFetch, FileTokenStore, loopbackRedirect, oauth, openBrowser } from 'everwire/auth';

const { SERVER = 'http://localhost:8000/mcp', TOKENS = path.join(homedir(), '.notes', 'tokens') } = process.env;

/** Shows the user where to sign in. */
async function show(url: URL): Promise<void> {
  if (!(await openBrowser(url))) console.error(`Please open ${url.href}`);
}

export const authorizer = oauth({
  server: SERVER,
  store: new FileTokenStore(TOKENS),
  redirect: loopbackRedirect({ title: 'Notes', open: show }),
  clientMetadata: { client_name: 'Notes' },
});

// For HTTP clients that do not support authorization themselves.
export const fetch = authorizedFetch(authorizer);
