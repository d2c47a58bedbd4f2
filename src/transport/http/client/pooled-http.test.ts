import { once } from 'node:events';
import { Agent, request as nodeRequest } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { closedPort, events, json, rawServer, scripted } from '../../../../test/support/http-server.ts';
import { Lifetime } from '../../../base/lifetime.ts';
import { AnswerLost } from './errors.ts';
import { fetchHttp } from './fetch-http.ts';
import { NotSent, type HttpReply, type HttpRequest, type HttpSend } from './http.ts';
import { pooledHttp } from './pooled-http.ts';

const post = (url: URL, body = '{}', cancellation?: Lifetime) =>
  ({ method: 'POST', url, headers: { 'content-type': 'application/json' }, body, cancellation }) as const;
const LIMIT = 1024;

async function all(reply: HttpReply): Promise<string> {
  let text = '';
  for await (const chunk of reply.chunks()) text += Buffer.from(chunk).toString();
  return text;
}

test('pooledHttp keeps an idle connection for 10 minutes at most, whatever the server says', async () => {
  const times = vi.spyOn(Socket.prototype, 'setTimeout');
  onTestFinished(() => times.mockRestore());
  const url = await rawServer((socket) => {
    const head = 'HTTP/1.1 200 OK\r\nkeep-alive: timeout=999999\r\ncontent-length: 2\r\n\r\n';
    socket.on('data', () => void socket.write(`${head}{}`));
  });
  await (await pooledHttp()(post(url))).text(LIMIT);
  expect(Math.max(...times.mock.calls.map(([milliseconds]) => milliseconds))).toBe(600_000);
});

test.each([
  ['after a sleep of the machine', 3_600_000],
  ['after the clock was set back', -3_600_000],
])('pooledHttp uses no idle connection %s', async (_, jump) => {
  let connections = 0;
  const url = await rawServer((socket) => {
    connections += 1;
    socket.on('data', () => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'));
  });
  const send = pooledHttp();
  await (await send(post(url))).text(LIMIT);
  await (await send(post(url))).text(LIMIT);
  expect(connections).toBe(1);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + jump });
  onTestFinished(() => void vi.useRealTimers());
  for (let each = 0; each < 2; each += 1) expect(await (await send(post(url))).text(LIMIT)).toBe('{}');
  expect(connections).toBe(2);
});

test('pooledHttp sends no request over a connection whose last response waited while the machine slept', async () => {
  let connections = 0;
  const url = await rawServer((socket) => {
    connections += 1;
    socket.on('data', () => {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 9000 });
      // The server has closed the connection meanwhile.
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
    });
  });
  onTestFinished(() => void vi.useRealTimers());
  const send = pooledHttp();
  for (let each = 0; each < 2; each += 1) expect(await (await send(post(url))).text(LIMIT)).toBe('{}');
  expect(connections).toBe(2);
});

test('pooledHttp keeps connections of the newest 8 origins, and requests to others continue', async () => {
  let open = 0;
  let finish!: () => void;
  const urls: URL[] = [];
  for (let n = 0; n < 12; n += 1) {
    const url = await rawServer((socket) => {
      open += 1;
      socket.on('close', () => (open -= 1));
      const head = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n';
      socket.on('data', () => void socket.write(n === 0 ? `${head}{` : `${head}{}`));
      if (n === 0) finish = () => void socket.write('}');
    });
    urls.push(url);
  }
  const send = pooledHttp();
  const first = await send(post(urls[0]!));
  for (const url of urls.slice(1)) await (await send(post(url))).text(LIMIT);
  await expect.poll(() => open).toBe(9);
  finish();
  expect(await first.text(LIMIT)).toBe('{}');
  await expect.poll(() => open).toBe(8);
  const again = send(post(urls[1]!));
  expect(await (await again).text(LIMIT)).toBe('{}');
  await expect.poll(() => open).toBe(8);
});

test('close ends the requests to all origins, also to those whose connections are no longer kept', async () => {
  const send = pooledHttp();
  const silent = await rawServer(() => {});
  const lost = send(post(silent)).catch((error: Error) => error.message);
  for (let n = 0; n < 9; n += 1) {
    const url = await rawServer((socket) => {
      socket.on('data', () => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'));
    });
    await (await send(post(url))).text(LIMIT);
  }
  send.close!();
  expect(await lost).toContain('the connection was closed');
});

describe.each<[string, () => HttpSend]>([
  ['pooledHttp', () => pooledHttp()],
  ['fetchHttp', () => fetchHttp()],
])('%s', (_, make) => {
  test('sends a request and reads its response', async () => {
    const server = await scripted(({ method, body }, response) => json(response, { method, body }));
    const send = make();
    for (let n = 0; n < 3; n += 1) {
      const reply = await send(post(server.url, JSON.stringify({ n })));
      expect(reply.status).toBe(200);
      expect(reply.header('content-type')).toBe('application/json');
      expect(JSON.parse(await reply.text(LIMIT))).toEqual({ method: 'POST', body: { n } });
    }
    expect(server.asked[0]!.headers['accept-encoding']).toBe('identity');
  });

  test('reads a body as it arrives', async () => {
    const server = await scripted((_asked, response) => void events(response, 'one ', 'two ').end('three'));
    expect(await all(await make()(post(server.url)))).toBe('one two three');
  });

  test('refuses a body above the size limit', async () => {
    const server = await scripted((_asked, response) => void response.end('x'.repeat(LIMIT + 1)));
    const reply = await make()(post(server.url));
    await expect(reply.text(LIMIT)).rejects.toThrow(`larger than ${LIMIT} bytes`);
  });

  test('needs little memory for a body in chunks of one byte', async () => {
    const url = await rawServer((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
        socket.write('1\r\nx\r\n'.repeat(1_000_000));
      });
    });
    const before = process.memoryUsage().heapUsed;
    const reply = await make()(post(url));
    let most = 0;
    const sampling = setInterval(() => (most = Math.max(most, process.memoryUsage().heapUsed - before)), 10);
    // All chunks but the last are held when the limit is reached.
    await expect(reply.text(999_999)).rejects.toThrow('larger than');
    clearInterval(sampling);
    expect(most).toBeLessThan(60_000_000);
  });

  test('closes connections whose discarded bodies do not end', async () => {
    let open = 0;
    const url = await rawServer((socket) => {
      open += 1;
      socket.on('close', () => (open -= 1));
      socket.on('data', () => socket.write('HTTP/1.1 202 Accepted\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n'));
    });
    const send = make();
    for (let n = 0; n < 100; n += 1) (await send(post(url))).discard();
    await expect.poll(() => open).toBeLessThan(50);
    send.close?.();
  });

  test('reports a request that was certainly not sent', async () => {
    await expect(make()(post(await closedPort()))).rejects.toThrow(NotSent);
    await expect(make()(post(new URL('http://nowhere.invalid/')))).rejects.toThrow(NotSent);
  });

  test('reports a request that may have been sent', async () => {
    const url = await rawServer((socket) => void socket.once('data', () => socket.destroy()));
    const lost = await make()(post(url)).catch((error: unknown) => error);
    expect(lost).toBeInstanceOf(AnswerLost);
  });

  test('notices a body that ends too early', async () => {
    const url = await rawServer((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'));
    });
    const reply = await make()(post(url));
    await expect(reply.text(LIMIT)).rejects.toThrow(/ended too early/);
    const other = await make()(post(url));
    await expect(all(other)).rejects.toThrow(AnswerLost);
  });

  test('refuses a switch to another protocol', async () => {
    const switching = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n';
    let closed = 0;
    const url = await rawServer((socket) => {
      socket.once('data', () => socket.write(switching));
      socket.once('close', () => (closed += 1));
    });
    const lost = await make()(post(url)).catch((error: unknown) => error);
    expect(lost).toBeInstanceOf(AnswerLost);
    await expect.poll(() => closed).toBe(1);
  });

  test('does not follow redirects', async () => {
    const server = await scripted((_asked, response) => void response.writeHead(307, { location: '/else' }).end());
    const reply = await make()(post(server.url));
    expect([reply.status, reply.header('location'), server.asked.length]).toEqual([307, '/else', 1]);
    reply.discard();
  });

  test('stops when its signal fires, before the response and during it', async () => {
    const { url } = await scripted(({ body }, response) => void (body.begin && events(response, 'begun')));
    const reason = new Error('enough');
    const before = new Lifetime();
    const waiting = make()(post(url, '{}', before));
    setImmediate(() => before.abort(reason));
    await expect(waiting).rejects.toBe(reason);
    const during = new Lifetime();
    const reply = await make()(post(url, '{"begin":true}', during));
    const reading = all(reply);
    during.abort(reason);
    await expect(reading).rejects.toBe(reason);
    await expect(make()(post(url, '{}', during))).rejects.toBe(reason);
  });
});

describe('pooledHttp', () => {
  test('ignores a cancellation once the response is complete', async () => {
    const server = await scripted((_asked, response) => json(response, {}));
    const send = pooledHttp();
    for (let n = 0; n < 20; n += 1) {
      const cancellation = new Lifetime();
      expect(await (await send(post(server.url, '{}', cancellation))).text(LIMIT)).toBe('{}');
      await new Promise((resolve) => void setImmediate(resolve));
      cancellation.abort(new Error('late'));
    }
    expect(server.connections()).toBe(1);
  });

  test('stops connecting after a timeout', async () => {
    // TLS with a server that never answers the handshake.
    const url = await rawServer(() => {});
    url.protocol = 'https:';
    const send = pooledHttp({ connectTimeout: 50 });
    await expect(send(post(url))).rejects.toThrow(NotSent);
    await expect(send(post(url))).rejects.toThrow(/no connection within 50 ms/);
  });

  test.each<[string, (url: URL) => Partial<HttpRequest>]>([
    ['a plain request', () => ({})],
    ['a body of more bytes than characters', () => ({ body: '"größer"' })],
    ['another host', () => ({ headers: { host: 'other.example:1', 'x-a': 'ä' } })],
    ['body headers set by the caller', () => ({ headers: { 'content-length': '2', 'accept-encoding': 'br' } })],
    ['credentials in the URL', (url) => ({ url: new URL(url.href.replace('//', '//name:pass@')) })],
    ['no body', () => ({ method: 'GET', body: undefined })],
  ])('writes the same head as node:http would: %s', async (_, change) => {
    const sent: string[] = [];
    const url = await rawServer((socket) => {
      socket.once('data', (data) => {
        sent.push(data.toString('latin1'));
        socket.end('HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n');
      });
    });
    const asked: HttpRequest = { ...post(url), ...change(url) };
    await (await pooledHttp()(asked)).text(LIMIT);
    const agent = new Agent({ keepAlive: true });
    const bare = nodeRequest(asked.url, {
      method: asked.method,
      agent,
      headers: { 'accept-encoding': 'identity', ...asked.headers },
    });
    // Node sends the head as UTF-8 if the body is a string.
    bare.end(asked.body === undefined ? undefined : Buffer.from(asked.body));
    await once(bare, 'response');
    agent.destroy();
    const [own, others] = sent.map((text) => {
      const [head, body] = text.split('\r\n\r\n');
      const [first, ...headers] = head!.split('\r\n');
      return {
        first,
        headers: headers.map((each) => each.replace(/^[^:]+/, (name) => name.toLowerCase())).toSorted(),
        body,
      };
    });
    expect(own).toEqual(others);
  });

  test('refuses an invalid header', async () => {
    const url = await rawServer(() => {});
    const headers = { 'x-a': 'a\r\nx-b: b' };
    await expect(pooledHttp()({ ...post(url), headers })).rejects.toThrow('The x-a header is invalid');
    const none = { 'x-a': undefined as unknown as string };
    await expect(pooledHttp()({ ...post(url), headers: none })).rejects.toThrow('The x-a header is invalid');
  });

  test.each(['ws:', 'wss:', 'ftp:'])('refuses a URL with %s', async (protocol) => {
    let connections = 0;
    const url = await rawServer(() => (connections += 1));
    const other = new URL(url.href.replace('http:', protocol));
    await expect(pooledHttp()(post(other))).rejects.toThrow('is not an http or https URL');
    expect(connections).toBe(0);
  });

  test('closes an idle connection before the server does', async () => {
    const began = performance.now();
    let over!: () => void;
    const closed = new Promise<void>((resolve) => (over = resolve));
    const server = await scripted((_asked, response) => {
      response.socket!.once('close', over);
      json(response, {}, 200, { connection: 'keep-alive', 'keep-alive': 'timeout=4' });
    });
    await (await pooledHttp()(post(server.url))).text(LIMIT);
    await closed;
    expect(performance.now() - began).toBeGreaterThan(1900);
    expect(performance.now() - began).toBeLessThan(3900);
  });

  test('uses no other idle connection after the server has closed one', async () => {
    const sockets: Socket[] = [];
    const url = await rawServer((socket) => {
      sockets.push(socket);
      let requests = 0;
      // Each connection answers one request and closes with the next one, unless it is a later connection.
      socket.on('data', () => {
        requests += 1;
        if (requests > 1 && sockets.indexOf(socket) < 3) socket.resetAndDestroy();
        else socket.write('HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n');
      });
    });
    const send = pooledHttp();
    await Promise.all([1, 2, 3].map(async () => (await send(post(url))).text(LIMIT)));
    await expect(send(post(url))).rejects.toThrow(AnswerLost);
    expect((await send(post(url))).status).toBe(202);
    expect(sockets).toHaveLength(4);
  });

  test('does not send a request again after its response has begun', async () => {
    const sockets: Socket[] = [];
    let requests = 0;
    const url = await rawServer((socket) => {
      sockets.push(socket);
      socket.on('data', () => {
        requests += 1;
        if (requests === 1) socket.write('HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n');
        // It responds before it has read the request.
        else socket.pause().write(`HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n${'x'.repeat(500_000)}`);
      });
    });
    const other = await scripted((_asked, response) => json(response, {}));
    const send = pooledHttp();
    await (await send(post(url))).text(LIMIT);
    const reply = await send(post(url, 'x'.repeat(30_000_000)));
    // Another exchange shows that the client has read as much as it will, and then that it has noticed the reset.
    await (await send(post(other.url))).text(LIMIT);
    const closed = once(sockets[0]!, 'close');
    sockets[0]!.resetAndDestroy();
    await closed;
    await (await send(post(other.url))).text(LIMIT);
    await expect(all(reply)).rejects.toThrow(AnswerLost);
    expect([requests, sockets.length]).toEqual([2, 1]);
  });

  test('does not apply the idle time of a connection to a response', async () => {
    const server = await scripted((_asked, response, count) => {
      const answer = (): void => json(response, {}, 200, { connection: 'keep-alive', 'keep-alive': 'timeout=2' });
      if (count === 1) answer();
      else setTimeout(answer, 1200);
    });
    const send = pooledHttp();
    for (let n = 0; n < 2; n += 1) expect(await (await send(post(server.url))).text(LIMIT)).toBe('{}');
    expect(server.connections()).toBe(1);
  });

  test('refuses a compressed body, and shows the status', async () => {
    const server = await scripted((_asked, response) => {
      response.writeHead(404, { 'content-encoding': 'gzip' }).end('x');
    });
    const refusal = /as gzip, which the client does not accept/;
    const reply = await pooledHttp()(post(server.url));
    expect(reply.status).toBe(404);
    await expect(reply.text(LIMIT)).rejects.toThrow(refusal);
    await expect((await pooledHttp()(post(server.url))).chunks()[Symbol.asyncIterator]().next()).rejects.toThrow(
      refusal,
    );
  });

  test("limits the size of a response's head", async () => {
    const server = await scripted((_asked, response) => {
      response.writeHead(200, { 'x-large': 'x'.repeat(4096) }).end();
    });
    await expect(pooledHttp({ maxHeaderBytes: 1024 })(post(server.url))).rejects.toThrow(/larger than 1024 bytes/);
  });

  test('ignores an interim response, and joins the values of a header', async () => {
    const url = await rawServer((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n');
        socket.write('x-a: 1\r\nX-A: 2\r\ncontent-type: text/plain\r\ncontent-type: text/html\r\n\r\nok');
      });
    });
    const reply = await pooledHttp()(post(url));
    expect([reply.status, reply.header('x-a'), reply.header('content-type')]).toEqual([200, '1, 2', 'text/plain']);
    expect(reply.header('link')).toBeUndefined();
    expect(await reply.text(LIMIT)).toBe('ok');
  });

  test.each<[string, (socket: Socket) => unknown]>([
    ['closes', (socket) => socket.end()],
    ['resets', (socket) => socket.resetAndDestroy()],
  ])('survives a server that %s the connection while nobody reads the response', async (_, end) => {
    const sockets: Socket[] = [];
    const url = await rawServer((socket) => {
      sockets.push(socket);
      socket.once('data', () => {
        const length = sockets.length === 1 ? 'connection: close' : 'content-length: 70000';
        socket.write(`HTTP/1.1 200 OK\r\n${length}\r\n\r\n${'x'.repeat(70_000)}`);
      });
    });
    const reply = await pooledHttp()(post(url));
    await expect.poll(() => sockets[0]!.writableLength).toBe(0);
    // What a second connection has carried afterwards shows that the first one has been read.
    const other = await pooledHttp()(post(url));
    end(sockets[0]!);
    expect((await other.text(70_000)).length).toBe(70_000);
    const outcome = await all(reply).then(
      (text) => text.length,
      (error: unknown) => error,
    );
    expect(outcome === 70_000 || outcome instanceof AnswerLost).toBe(true);
  });

  test('holds back a server whose response is not read, and then keeps the connection', async () => {
    const size = 20_000_000;
    let unsent = 0;
    const server = await scripted((_asked, response) => {
      response.end('x'.repeat(size));
      const { socket } = response;
      setImmediate(function count() {
        unsent = socket!.writableLength;
        if (unsent > 0) setImmediate(count);
      });
    });
    const send = pooledHttp();
    const reply = await send(post(server.url));
    // Another connection is served in between.
    await (await send(post((await scripted((_asked, response) => json(response, {}))).url))).text(LIMIT);
    expect(unsent).toBeGreaterThan(0);
    for (let n = 0; n < 2; n += 1) {
      const each = n === 0 ? reply : await send(post(server.url));
      expect((await each.text(size)).length).toBe(size);
    }
    expect(server.connections()).toBe(1);
  });

  test('holds back a response on a connection whose previous response is read late', async () => {
    const size = 20_000_000;
    const server = await scripted(
      (_asked, response, count) => void response.end('x'.repeat(count === 1 ? 66_000 : size)),
    );
    const other = await scripted((_asked, response) => json(response, {}));
    const send = pooledHttp();
    const first = await send(post(server.url));
    await (await send(post(other.url))).text(LIMIT);
    const second = await send(post(server.url));
    await (await send(post(other.url))).text(LIMIT);
    expect(server.connections()).toBe(1);
    expect((await all(first)).length).toBe(66_000);
    for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => void setImmediate(resolve));
    for await (const chunk of second.chunks()) {
      expect(chunk.length).toBeLessThan(200_000);
      break;
    }
  });

  test('closes an idle connection in time after a response that was read late', async () => {
    let over!: () => void;
    const closed = new Promise<void>((resolve) => (over = resolve));
    const server = await scripted((_asked, response) => {
      response.socket!.once('close', over);
      response.writeHead(200, { connection: 'keep-alive', 'keep-alive': 'timeout=1' }).end('x'.repeat(140_000));
    });
    const reply = await pooledHttp()(post(server.url));
    await new Promise((resolve) => void setTimeout(resolve, 700));
    expect((await reply.text(140_000)).length).toBe(140_000);
    await closed;
  });

  test('fails the requests that are in flight when it is closed', async () => {
    const url = await rawServer((socket) => {
      socket.once('data', (data) => {
        if (data.includes('begin')) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhal');
      });
    });
    const tls = new URL(url);
    tls.protocol = 'https:';
    const send = pooledHttp();
    const connecting = send(post(tls));
    const waiting = send(post(url));
    const reply = await send(post(url, 'begin'));
    const reading = reply.text(LIMIT);
    send.close!();
    await expect(connecting).rejects.toThrow(NotSent);
    await expect(waiting).rejects.toThrow(AnswerLost);
    await expect(reading).rejects.toThrow(AnswerLost);
  });

  test('does not keep the process running for a body that nobody wants', async () => {
    const url = await rawServer((socket) => {
      socket.once('data', () => socket.write('HTTP/1.1 202 Accepted\r\ncontent-length: 5\r\n\r\nhal'));
    });
    const sockets = (): number => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
    const send = pooledHttp();
    const reply = await send(post(url));
    const before = sockets();
    reply.discard();
    expect(sockets()).toBe(before - 1);
    send.close!();
  });

  test('closes the connection of a request that is cancelled while it connects', async () => {
    const ends: Promise<unknown>[] = [];
    const url = await rawServer((socket) => void ends.push(once(socket.resume(), 'close')));
    url.protocol = 'https:';
    const cancellation = new Lifetime();
    const waiting = pooledHttp()(post(url, '{}', cancellation)).catch((error: unknown) => error);
    await expect.poll(() => ends.length).toBe(1);
    const reason = new Error('enough');
    cancellation.abort(reason);
    expect(await waiting).toBe(reason);
    await ends[0];
  });

  test('can reuse a connection whose body was not read', async () => {
    const server = await scripted((_asked, response) => json(response, {}));
    const send = pooledHttp();
    (await send(post(server.url))).discard();
    await expect
      .poll(async () => {
        const before = server.connections();
        await (await send(post(server.url))).text(LIMIT);
        return server.connections() === before;
      })
      .toBe(true);
  });

  test('shows no query and no credentials in errors', async () => {
    const url = new URL('http://user:secret-one@127.0.0.1:1/path?token=secret-two');
    const error = (await pooledHttp()(post(url)).catch((thrown: unknown) => thrown)) as Error;
    expect(error.message).toContain('http://127.0.0.1:1/path');
    expect(error.message).not.toContain('secret');
  });
});
