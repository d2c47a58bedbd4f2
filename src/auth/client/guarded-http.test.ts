import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { rawServer } from '../../../test/support/http-server.ts';
import { GuardedHttp } from './guarded-http.ts';

const PUBLIC = new URL('https://mcp.example/mcp');
const LOCAL = new URL('http://127.0.0.1:1/mcp');

const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n';

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('an address that somebody else has named', () => {
  test.each([
    ['http://auth.example/', 'is not https'],
    ['ftp://auth.example/', 'is not https'],
    ['javascript:alert(1)', 'is not https'],
    ['file:///etc/passwd', 'is not https'],
    ['https://user:pass@auth.example/', 'holds credentials'],
    ['not an address', 'is not an absolute URL'],
    [undefined, 'is not an absolute URL'],
    ['https://127.0.0.1/', 'is loopback'],
    ['https://localhost/', 'is loopback'],
    ['https://[::1]/', 'is loopback'],
    ['https://2130706433/', 'is loopback'],
    ['https://0x7f.1/', 'is loopback'],
    ['https://[::ffff:127.0.0.1]/', 'is loopback'],
    ['https://10.0.0.1/', 'is private'],
    ['https://[fd00::1]/', 'is private'],
    ['https://169.254.169.254/latest/meta-data', 'is link-local'],
    ['http://127.0.0.1:9/', 'is loopback'],
  ])('is refused for a public server: %s', (address, why) => {
    expect(() => new GuardedHttp({ server: PUBLIC }).permitted(address, 'It')).toThrow(why);
  });

  test.each([
    ['https://10.0.0.1/', 'is private'],
    ['https://169.254.169.254/', 'is link-local'],
    ['http://auth.example/', 'is not https'],
  ])('is refused for a server on loopback: %s', (address, why) => {
    expect(() => new GuardedHttp({ server: LOCAL }).permitted(address, 'It')).toThrow(why);
  });

  test.each([
    [PUBLIC, 'https://auth.example/a?b=c'],
    [PUBLIC, 'https://8.8.8.8/'],
    [LOCAL, 'http://localhost:9000/'],
    [LOCAL, 'http://[::1]:9000/'],
    [LOCAL, 'https://auth.example/'],
    [new URL('https://10.1.1.1/mcp'), 'https://192.168.1.1/'],
  ])('is permitted for %s: %s', (server, address) => {
    expect(new GuardedHttp({ server }).permitted(address, 'It').href).toBe(address);
  });

  test('may be private where the application says so, and never link-local', () => {
    const http = new GuardedHttp({ server: PUBLIC, allowPrivateNetwork: true });
    expect(http.permitted('https://10.0.0.1/', 'It').hostname).toBe('10.0.0.1');
    expect(() => http.permitted('https://169.254.1.1/', 'It')).toThrow('link-local');
  });
});

describe('an answer', () => {
  const http = new GuardedHttp({ server: LOCAL });

  test('comes with its status, headers and body', async () => {
    const origin = await serve(({ headers }, response) => {
      response.writeHead(404, { 'x-one': 'a' });
      response.end(`accept: ${headers.accept}`);
    });
    const response = await http.get(new URL(origin), { accept: 'x/y' });
    expect([response.status, response.headers.get('x-one'), await response.text()]).toEqual([404, 'a', 'accept: x/y']);
  });

  test('is not read where it is too large', async () => {
    const origin = await serve((_, response) => {
      response.on('error', () => {});
      for (let n = 0; n < 20; n++) response.write(Buffer.alloc(100_000));
    });
    await expect(http.get(new URL(origin), {})).rejects.toThrow('larger than 1048576 bytes');
  });

  test('is not waited for once the signal fires', async () => {
    const leaving = new AbortController();
    const origin = await serve(() => leaving.abort(new Error('left')));
    await expect(http.get(new URL(origin), {}, leaving.signal)).rejects.toThrow('left');
  });

  test('that never comes is an error without the query', async () => {
    await expect(http.get(new URL('http://127.0.0.1:1/a?secret=1'), {})).rejects.toThrow(
      /^http:\/\/127\.0\.0\.1:1\/a: ECONNREFUSED$/,
    );
  });

  test('that switches to another protocol is none', async () => {
    const url = await rawServer((socket) => void socket.once('data', () => socket.write(SWITCHING)));
    await expect(http.get(url, {})).rejects.toThrow(/127\.0\.0\.1:\d+\/mcp: it switched to another protocol/);
  });

  test('is not waited for where what asks does not heed the signal', async () => {
    const leaving = new AbortController();
    const fetch = (): Promise<never> => {
      setImmediate(() => leaving.abort(new Error('left')));
      return new Promise(() => {});
    };
    const deaf = new GuardedHttp({ server: LOCAL, fetch });
    await expect(deaf.get(new URL('http://127.0.0.1:1/'), {}, leaving.signal)).rejects.toThrow('left');
    await expect(deaf.get(new URL('http://127.0.0.1:1/'), {}, leaving.signal)).rejects.toThrow('left');
  });

  test('that redirects within the origin is followed', async () => {
    const origin = await serve(({ url }, response) => {
      if (url === '/there') return response.end('there');
      response.writeHead(302, { location: '/there' });
      return response.end();
    });
    expect(await (await http.get(new URL(`${origin}/here`), {})).text()).toBe('there');
  });

  test('that redirects elsewhere is refused, and elsewhere is not asked', async () => {
    let asked = 0;
    const other = await serve((_, response) => response.end(String((asked += 1))));
    const origin = await serve((_, response) => {
      response.writeHead(307, { location: other });
      response.end();
    });
    await expect(http.get(new URL(origin), {})).rejects.toThrow('redirects to another origin');
    expect(asked).toBe(0);
  });

  test('that redirects for ever is given up', async () => {
    const origin = await serve((_, response) => {
      response.writeHead(301, { location: '/' });
      response.end();
    });
    await expect(http.get(new URL(origin), {})).rejects.toThrow('redirects too often');
  });

  test('to a POST is never redirected', async () => {
    const origin = await serve((_, response) => {
      response.writeHead(307, { location: '/there' });
      response.end();
    });
    expect((await http.fetch(origin, { method: 'POST', headers: {}, body: 'secret' })).status).toBe(307);
  });
});
