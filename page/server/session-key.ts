/** Where the key is kept while this tab lives. Another tab needs an address of its own. */
const KEY = 'everwire-key';

/**
 * The key for the requests to this page's server. The token of the address is exchanged for it once, and leaves the
 * address bar.
 *
 * @throws Error that says what to do.
 */
export async function sessionKey(): Promise<string> {
  const token = location.hash.slice(1);
  if (/^[\w-]{43}$/.test(token)) {
    history.replaceState(null, '', location.pathname);
    const response = await fetch('/api/key', { method: 'POST', headers: { 'everwire-token': token } });
    if (!response.ok) throw new Error(await response.text());
    const { key } = (await response.json()) as { key: string };
    sessionStorage.setItem(KEY, key);
  }
  const key = sessionStorage.getItem(KEY);
  if (key === null) throw new Error('Open the URL that Everwire printed in the terminal.');
  return key;
}
