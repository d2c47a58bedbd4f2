import type { LookupOptions } from 'node:dns';
import { createServer } from 'node:http';
import { getDefaultAutoSelectFamily, setDefaultAutoSelectFamily, type AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { GuardedHttp } from './guarded-http.ts';

/** The addresses that names resolve to. */
const names = new Map<string, string[]>();

vi.mock('node:dns', async (original) => ({
  ...(await original<Record<string, unknown>>()),
  lookup: (hostname: string, options: LookupOptions, callback: (error: Error | null, found?: unknown) => void) => {
    const found = names.get(hostname)?.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    if (!found) return callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }));
    return callback(null, options.all ? found : found[0]!.address);
  },
}));

const PUBLIC = new URL('https://mcp.example/mcp');

async function listen(): Promise<{ port: number; connections: () => number }> {
  let connections = 0;
  const server = createServer((_, response) => response.end('here'));
  server.on('connection', () => (connections += 1));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}

test.each([
  ['loopback', ['127.0.0.1'], 'loopback'],
  ['loopback, among others', ['203.0.112.1', '127.0.0.1'], 'loopback'],
  ['a private network', ['10.0.0.7'], 'private'],
  ['the metadata service of a cloud', ['169.254.169.254'], 'link-local'],
  ['loopback, mapped into IPv6', ['::ffff:127.0.0.1'], 'loopback'],
])('a name that resolves to %s is refused for a public server', async (_, addresses, reach) => {
  const { port, connections } = await listen();
  names.set('auth.example', addresses);
  const url = new URL(`https://auth.example:${port}/`);
  const http = new GuardedHttp({ server: PUBLIC });
  const remedy = reach === 'private' ? ' (allowPrivateNetwork allows it)' : '';
  await expect(http.get(url, {})).rejects.toMatchObject({
    message: `auth.example resolves to a ${reach} address, but the server has no ${reach} address${remedy}`,
  });
  await expect(http.fetch(url.href, { method: 'POST', headers: {}, body: 'a' })).rejects.toMatchObject({
    code: 'blocked',
  });
  expect(connections()).toBe(0);
});

test('a name is resolved again for each connection, so that its address cannot change after the check', async () => {
  const { port, connections } = await listen();
  const http = new GuardedHttp({ server: new URL('https://10.0.0.1/mcp') });
  const url = new URL(`https://auth.example:${port}/`);
  names.set('auth.example', ['127.0.0.1']);
  expect(http.permitted(url.href, 'It').href).toBe(url.href);
  await expect(http.get(url, {})).rejects.toThrow('loopback');
  expect(connections()).toBe(0);
});

test('if a name does not resolve, the server is unreachable', async () => {
  const http = new GuardedHttp({ server: PUBLIC });
  await expect(http.get(new URL('https://nowhere.example/'), {})).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringMatching(/^https:\/\/nowhere\.example\/: ENOTFOUND/),
  });
});

test.each([true, false])(
  'a name for loopback is allowed for a server on loopback, and all its addresses are tried: %s',
  async (all) => {
    const before = getDefaultAutoSelectFamily();
    setDefaultAutoSelectFamily(all);
    onTestFinished(() => setDefaultAutoSelectFamily(before));
    const { port } = await listen();
    names.set('localhost', ['127.0.0.1']);
    const http = new GuardedHttp({ server: new URL(`http://localhost:${port}/mcp`) });
    expect(await (await http.get(new URL(`http://localhost:${port}/`), {})).text()).toBe('here');
  },
);
