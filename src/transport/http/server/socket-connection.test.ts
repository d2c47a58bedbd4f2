import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { HttpCall, HttpRefusal } from './call.ts';
import { listen } from './listen.ts';

afterEach(() => void vi.useRealTimers());

interface Client {
  readonly socket: Socket;
  send(text: string): void;
  /** What has come so far. */
  received(): string;
}

/** A server with one page, and a client of it that sees the bytes. */
async function serving(answer: (call: HttpCall) => unknown, onerror: (error: Error) => void = () => {}) {
  const refusals: HttpRefusal[] = [];
  const listener = await listen({
    port: 0,
    onsession: () => {},
    pages: () => ({ answer: (call) => void answer(call) }),
    onrefusal: (refusal) => refusals.push(refusal),
    onerror,
  });
  onTestFinished(() => listener.close(0));
  const open = async (): Promise<Client> => {
    const socket = connect(listener.port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    socket.on('error', () => {});
    await once(socket, 'connect');
    return { socket, send: (sent) => void socket.write(sent, 'latin1'), received: () => text };
  };
  return { listener, refusals, open, ...(await open()) };
}

const PATIENT = { timeout: 30_000 };
const HOST = 'host: localhost\r\n';
const withoutDate = (text: string): string => text.replaceAll(/date: .*\r\n/g, '');
const ok = (call: HttpCall): void => call.respond(200, { 'x-a': 'b' }, 'fine');
const statuses = (text: string): string[] => Array.from(text.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status!);

/** A page that answers with the body of the request. */
const echo = (limit: number) => async (call: HttpCall) => {
  const body = await call.readBody(limit, undefined);
  if (typeof body === 'string') call.respond(413, {}, body);
  else call.respond(200, {}, Buffer.from(body).toString());
};

test('a response has a length and a date, and keeps the connection', async () => {
  const { send, received } = await serving(ok);
  send(`GET / HTTP/1.1\r\n${HOST}\r\n`);
  await vi.waitFor(() => expect(received()).toContain('fine'));
  expect(Date.parse(/date: (.*)\r\n/.exec(received())![1]!)).toBeGreaterThan(Date.now() - 10_000);
  expect(withoutDate(received())).toBe(
    'HTTP/1.1 200 OK\r\nx-a: b\r\ncontent-length: 4\r\nconnection: keep-alive\r\nkeep-alive: timeout=65\r\n\r\nfine',
  );
});

test('the event loop runs between pipelined requests with large responses', async () => {
  let answered = 0;
  let atTurn = 0;
  const { send } = await serving((call) => {
    if (answered === 0) setImmediate(() => (atTurn = answered));
    answered += 1;
    call.respond(200, {}, 'x'.repeat(100_000));
  });
  send(`GET / HTTP/1.1\r\n${HOST}\r\n`.repeat(10));
  await vi.waitFor(() => expect(answered).toBe(10));
  expect(atTurn).toBe(1);
});

test('a response to HEAD, and one with status 204, has no body', async () => {
  const { send, received } = await serving((call) => (call.method === 'HEAD' ? ok(call) : call.respond(204, {})));
  send(`HEAD / HTTP/1.1\r\n${HOST}\r\nGET / HTTP/1.1\r\n${HOST}\r\n`);
  await vi.waitFor(() => expect(statuses(received())).toEqual(['200', '204']));
  const [, head, none] = withoutDate(received()).split('HTTP/1.1 ');
  expect(head).toMatch(/content-length: 4\r\n(?:.*\r\n)*\r\n$/);
  expect(none).toBe('204 No Content\r\nconnection: keep-alive\r\nkeep-alive: timeout=65\r\n\r\n');
});

test('where a response ends is said once, also if a page gives headers for it', async () => {
  const { send, received } = await serving((call) => {
    if (call.path === '/204') return call.stream(204, {}).end();
    call.respond(200, { 'Content-Length': '1', 'transfer-encoding': 'chunked' }, 'fine');
  });
  send(`GET / HTTP/1.1\r\n${HOST}\r\nGET /204 HTTP/1.1\r\n${HOST}\r\n`);
  await vi.waitFor(() => expect(statuses(received())).toEqual(['200', '204']));
  expect(received().match(/^(?:content-length|transfer-encoding):.*$/gim)).toEqual(['content-length: 4']);
});

test('a text that is not ASCII keeps its characters, as a response and as a stream', async () => {
  const { send, received } = await serving((call) => {
    if (call.path === '/text') return call.respond(200, {}, 'grün 🌍');
    const stream = call.stream(200, {});
    stream.write('grün ');
    stream.write('');
    stream.write('🌍');
    stream.end();
  });
  const text = Buffer.from('grün 🌍').toString('latin1');
  send(`GET /text HTTP/1.1\r\n${HOST}\r\nGET /stream HTTP/1.1\r\n${HOST}\r\n`);
  await vi.waitFor(() => expect(received()).toContain('0\r\n\r\n'));
  expect(received()).toContain(`content-length: 10\r\n`);
  expect(received()).toContain(`\r\n\r\n${text}HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n`);
  expect(received()).toMatch(new RegExp(`\r\n\r\n6\r\n${text.slice(0, 6)}\r\n4\r\n${text.slice(6)}\r\n0\r\n\r\n$`));
});

describe('a client of HTTP/1.0', () => {
  test('gets a response, and then the end of the connection', async () => {
    const { send, received, socket } = await serving(ok);
    send('GET / HTTP/1.0\r\nhost: localhost\r\n\r\n');
    await once(socket, 'close');
    expect(withoutDate(received())).toMatch(/connection: close\r\n\r\nfine$/);
  });

  test('keeps the connection if it asks for that', async () => {
    const { send, received } = await serving(ok);
    for (let n = 1; n <= 2; n += 1) {
      send('GET / HTTP/1.0\r\nhost: localhost\r\nconnection: keep-alive\r\n\r\n');
      await vi.waitFor(() => expect(statuses(received())).toHaveLength(n));
    }
    expect(received()).toContain('connection: keep-alive');
  });

  test('gets a stream without chunks, which ends with the connection', async () => {
    const { send, received, socket } = await serving((call) => {
      const stream = call.stream(200, {});
      stream.write('one ');
      stream.write('two');
      stream.end();
    });
    send('GET / HTTP/1.0\r\nhost: localhost\r\nconnection: keep-alive\r\n\r\n');
    await once(socket, 'close');
    expect(withoutDate(received())).toBe('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\none two');
  });
});

describe('a client that waits for permission to send its body', () => {
  const head = (length: number): string =>
    `POST / HTTP/1.1\r\n${HOST}expect: 100-continue\r\ncontent-length: ${length}\r\n\r\n`;

  test('gets it when the body is read', async () => {
    const { send, received } = await serving(echo(100));
    send(head(5));
    await vi.waitFor(() => expect(received()).toBe('HTTP/1.1 100 Continue\r\n\r\n'));
    send('hello');
    await vi.waitFor(() => expect(received()).toMatch(/200 OK(?:.|\r\n)*hello$/));
  });

  test('does not get it if its body is refused, and the connection closes', async () => {
    const { send, received, socket } = await serving(echo(100));
    send(head(500));
    await once(socket, 'end');
    expect(withoutDate(received())).toBe(
      'HTTP/1.1 413 Payload Too Large\r\ncontent-length: 9\r\nconnection: close\r\n\r\ntoo large',
    );
  });

  test('gets none if it is gone before the body is read, and the reader waits', async () => {
    const calls: HttpCall[] = [];
    const { send, socket, listener } = await serving((call) => void calls.push(call));
    send(head(5));
    await vi.waitFor(() => expect(calls).toHaveLength(1));
    socket.destroy();
    await vi.waitFor(() => expect(calls[0]!.gone).toBe(true));
    const settled = vi.fn<() => void>();
    calls[0]!.readBody(100, undefined).then(settled, settled);
    await listener.close(0);
    expect(settled).not.toHaveBeenCalled();
  });

  test('is refused if it waits for something else', async () => {
    const { send, received, socket } = await serving(ok);
    send(`GET / HTTP/1.1\r\n${HOST}expect: something\r\n\r\n`);
    await once(socket, 'end');
    expect(statuses(received())).toEqual(['417']);
  });
});

test('a body that nobody reads is dropped, and the next request is served', async () => {
  const { send, received } = await serving(ok);
  send(`POST / HTTP/1.1\r\n${HOST}content-length: 300000\r\n\r\n`);
  await vi.waitFor(() => expect(statuses(received())).toEqual(['200']));
  send(`${'x'.repeat(300_000)}GET / HTTP/1.1\r\n${HOST}\r\n`);
  await vi.waitFor(() => expect(statuses(received())).toEqual(['200', '200']));
});

test('a body that is read late is read whole', async () => {
  const bodies: HttpCall[] = [];
  const { send, received } = await serving((call) => void bodies.push(call));
  send(`POST / HTTP/1.1\r\n${HOST}content-length: 300000\r\n\r\n${'x'.repeat(300_000)}`);
  await vi.waitFor(() => expect(bodies).toHaveLength(1));
  await echo(300_000)(bodies[0]!);
  await vi.waitFor(() => expect(received().length).toBeGreaterThan(300_000));
  expect(received()).toContain('content-length: 300000');
});

test('a connection with an answered request that never ends does not delay the end of the server', async () => {
  // Without the time limit of a request.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const { send, received, listener, socket } = await serving(ok);
  send(`POST / HTTP/1.1\r\n${HOST}content-length: 5\r\n\r\n`);
  await vi.waitFor(() => expect(received()).toContain('fine'));
  const closed = vi.fn<() => void>();
  void listener.close(3_600_000).then(closed);
  await once(socket, 'close');
  await vi.waitFor(() => expect(closed).toHaveBeenCalled());
});

test.each(['first', 'second'])('a %s request that comes while the server begins to stop is answered', async (which) => {
  const { listener, socket, send, received } = await serving(ok);
  const before = which === 'first' ? [] : ['200'];
  if (which === 'second') send(`GET / HTTP/1.1\r\n${HOST}\r\n`);
  await vi.waitFor(() => expect(statuses(received())).toEqual(before));
  const closed = listener.close();
  send(`GET / HTTP/1.1\r\n${HOST}\r\n`);
  await once(socket, 'end');
  expect(statuses(received())).toEqual([...before, '200']);
  expect(received()).toContain('connection: close\r\n');
  socket.destroy();
  await closed;
});

test('connections that the system has accepted when the server begins to stop are served', async () => {
  const { listener, open } = await serving(ok);
  const opening = Array.from({ length: 8 }, open);
  await Promise.race(opening);
  const closed = listener.close();
  const clients = await Promise.all(opening);
  for (const { send } of clients) send(`GET / HTTP/1.1\r\n${HOST}\r\n`);
  await Promise.all(clients.map(({ socket }) => once(socket, 'close')));
  expect(clients.map(({ received }) => statuses(received()))).toEqual(clients.map(() => ['200']));
  await closed;
});

test('a server stops although clients open connections all the time', async () => {
  const { listener } = await serving(ok);
  let isOpen = true;
  const reconnect = (): void => {
    const socket = connect(listener.port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => (isOpen = false)).on('connect', () => isOpen && reconnect());
  };
  for (let count = 0; count < 20; count += 1) reconnect();
  // As a server that has much to do in each turn.
  const work = setInterval(() => {
    const end = performance.now() + 10;
    while (performance.now() < end);
  }, 0);
  onTestFinished(() => clearInterval(work));
  const started = performance.now();
  await listener.close(0);
  isOpen = false;
  expect(performance.now() - started).toBeLessThan(2000);
});

test('a server stops under a clock that a test has replaced before it was loaded', async () => {
  vi.resetModules();
  vi.useFakeTimers();
  const loaded = await import('./listen.ts');
  const listener = await loaded.listen({ port: 0, onsession: () => {} });
  await listener.close();
});

test('a request that cannot be read is refused with the reason, and reported', async () => {
  const { send, received, socket, refusals } = await serving(ok);
  send('GET / HTTP/1.1\r\nhost : localhost\r\n\r\n');
  await once(socket, 'end');
  const [head, body] = received().split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1.1 400 Bad Request\r\n(?:.*\r\n)*connection: close$/);
  const message = 'The request is not valid HTTP/1.1: its head is not HTTP/1.1';
  expect(JSON.parse(body!)).toEqual({ jsonrpc: '2.0', error: { code: -32000, message } });
  expect(refusals).toEqual([{ reason: 'malformed', status: 400 }]);
});

test('a body that cannot be read is refused, and what reads it gets nothing', async () => {
  const { send, received, socket } = await serving(echo(100));
  send(`POST / HTTP/1.1\r\n${HOST}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\nx\r\n`);
  await once(socket, 'end');
  expect(statuses(received())).toEqual(['400']);
});

test('if the client sends garbage after the response has begun, the connection closes', async () => {
  const closed = vi.fn<() => void>();
  const { send, received, socket } = await serving((call) => {
    const stream = call.stream(200, {});
    stream.onclose = closed;
    stream.write('begun');
  });
  send(`POST / HTTP/1.1\r\n${HOST}transfer-encoding: chunked\r\n\r\nx\r\n`);
  await once(socket, 'close');
  expect(statuses(received())).toEqual(['200']);
  expect(closed).toHaveBeenCalledOnce();
});

test('a client that ends its side cancels its request, but not a complete response', async () => {
  const closed = vi.fn<() => void>();
  const { send, socket, open } = await serving((call) => {
    if (call.path === '/large') return call.respond(200, {}, 'x'.repeat(30_000));
    const stream = call.stream(200, {});
    stream.onclose = closed;
  });
  send(`GET / HTTP/1.1\r\n${HOST}\r\n`);
  await once(socket, 'data');
  socket.end();
  await vi.waitFor(() => expect(closed).toHaveBeenCalledOnce());
  const other = await open();
  other.send(`GET /large HTTP/1.1\r\n${HOST}connection: close\r\n\r\n`);
  await once(other.socket, 'end');
  expect(other.received()).toMatch(/x{30000}$/);
});

test('a header that would break the response is not sent, and reported', async () => {
  const errors: string[] = [];
  const { send, received } = await serving(
    (call) => call.respond(200, { 'x-a': 'b\r\nset-cookie: c' }, 'fine'),
    ({ message }) => errors.push(message),
  );
  send(`GET / HTTP/1.1\r\n${HOST}\r\n`);
  await vi.waitFor(() => expect(statuses(received())).toEqual(['500']));
  expect(errors).toEqual(['The header "x-a" of a response cannot be sent']);
});

describe('what waits for the current request', () => {
  const held = async (sent: string) => {
    const calls: HttpCall[] = [];
    const { send, listener, open } = await serving((call) => void calls.push(call));
    send(sent);
    await vi.waitFor(() => expect(calls).toHaveLength(1));
    // Another connection shows that the server has read what came before.
    for (let n = 2; n <= 10; n += 1) {
      (await open()).send(`GET / HTTP/1.1\r\n${HOST}\r\n`);
      await vi.waitFor(() => expect(calls).toHaveLength(n));
    }
    return listener.handler.bufferedBytes;
  };

  test('is counted', async () => {
    expect(await held(`GET / HTTP/1.1\r\n${HOST}\r\nabc`)).toBe(3);
  });

  test('is counted with what Node reads before it stops', async () => {
    const bytes = await held(`GET / HTTP/1.1\r\n${HOST}\r\n${'x'.repeat(1_000_000)}`);
    expect(bytes).toBeGreaterThan((64 + 128) * 1024);
    expect(bytes).toBeLessThanOrEqual((128 + 128) * 1024);
  });
});

describe('time limits', () => {
  async function after(milliseconds: number, text: string, answer = ok) {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    const seen = vi.fn<(path: string) => void>();
    const client = await serving((call) => (call.path === '/other' ? seen(call.path) : answer(call)));
    if (text) client.send(text);
    // Another connection shows that the server has read what came before.
    const other = await client.open();
    other.send(`GET /other HTTP/1.1\r\n${HOST}\r\n`);
    await vi.waitFor(() => expect(seen).toHaveBeenCalled());
    vi.advanceTimersByTime(milliseconds);
    return client;
  }

  test('a head may take 15 seconds', async () => {
    const { socket, received, refusals } = await after(16_001, 'GET / HTTP/1.1\r\nhost: lo');
    await once(socket, 'end');
    expect(received()).toContain('The head of the request was not complete after 15000 ms');
    expect(statuses(received())).toEqual(['408']);
    expect(refusals).toEqual([{ reason: 'malformed', status: 408 }]);
  });

  test('a request may take 60 seconds', async () => {
    const { socket, received } = await after(
      61_001,
      `POST / HTTP/1.1\r\n${HOST}content-length: 9\r\n\r\nhello`,
      (call) => {
        void call.readBody(100, undefined);
      },
    );
    await once(socket, 'end');
    expect(received()).toContain('The request was not complete after 60000 ms');
    expect(statuses(received())).toEqual(['408']);
  });

  test('a connection may be idle for 65 seconds, and closes without a response', async () => {
    const { socket, received } = await after(66_001, '');
    await once(socket, 'close');
    expect(received()).toBe('');
  });

  test('a request that came while the process stood still is answered', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    const { send, received } = await serving(ok);
    const stoodStill = performance.now() + 3_600_000;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => stoodStill);
    onTestFinished(() => clock.mockRestore());
    send(`GET / HTTP/1.1\r\n${HOST}\r\n`);
    // The timers are first after such a pause.
    vi.advanceTimersByTime(1000);
    await vi.waitFor(() => expect(received()).toContain('fine'));
  });

  test('the event loop runs while very many connections are closed', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    const count = 600;
    let read = 0;
    let closed = 0;
    const { port, close } = await listen({
      port: 0,
      onsession: () => {},
      wiretap: { open: () => ({ bytes: () => void (read += 1), close: () => {} }) },
      onrefusal: () => void (closed += 1),
    });
    onTestFinished(() => close(0));
    for (let each = 0; each < count; each += 1) {
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      onTestFinished(() => void socket.destroy());
      socket.write('GET / HTTP/1.1\r\nhost: lo');
    }
    await vi.waitFor(() => expect(read).toBe(count), PATIENT);
    vi.advanceTimersByTime(16_001);
    expect(closed).toBeLessThan(count);
    await vi.waitFor(() => expect(closed).toBe(count), PATIENT);
  });

  test('a response may take any time', async () => {
    let waiting: HttpCall | undefined;
    const { received, socket } = await after(3_600_000, `GET / HTTP/1.1\r\n${HOST}\r\n`, (call) => {
      waiting ??= call;
    });
    ok(waiting!);
    await once(socket, 'data');
    expect(statuses(received())).toEqual(['200']);
  });
});
