import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readRecordStream } from '../../../test/support/record-stream.ts';
import { Capture } from '../capture.ts';
import type { RecordsOptions } from '../record-log.ts';
import type { WireRecord } from '../record.ts';
import type { RecordSource } from './record-stream.ts';
import { CommandRefused } from './command-refused.ts';
import type { InspectorState, PageCommands, RequestOutcome } from './page-api.ts';
import { servePage, type PageServer, type PageServerOptions } from './page-server.ts';
import { fixedState } from './state-feed.ts';

const feed = fixedState('observer', 'node server.js');

function folder(files: Record<string, string> = { 'index.html': '<!doctype html>', 'assets/page.js': 'go()' }): string {
  const root = mkdtempSync(path.join(tmpdir(), 'page-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  }
  return root;
}

interface World {
  readonly server: PageServer;
  readonly token: string;
  readonly origin: string;
  /** The headers that a browser adds to a control request of the page itself. */
  readonly own: Record<string, string>;
  send(method: string, target: string, headers?: Record<string, string>, body?: string): Promise<Answer>;
  /** Opens a stream: of records with this query, or at this path. */
  stream(target: string, headers: Record<string, string>): Promise<IncomingMessage>;
  key(): Promise<string>;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

async function world(capture: RecordSource = new Capture(), options: Partial<PageServerOptions> = {}): Promise<World> {
  const server = await servePage({ capture, feed, folder: folder(), port: 0, ...options });
  onTestFinished(() => server.close());
  const { origin, hash, port } = new URL(server.url);
  const token = hash.slice(1);
  const own = { origin, 'sec-fetch-site': 'same-origin' };
  const open = (
    method: string,
    target: string,
    headers: Record<string, string>,
    body?: string,
  ): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, method, path: target, headers, agent: false }, resolve);
      sent.on('error', reject);
      sent.end(body);
    });
  const send: World['send'] = async (method, target, headers = {}, body) => {
    const response = await open(method, target, headers, body);
    response.setEncoding('utf8');
    let text = '';
    for await (const chunk of response) text += chunk;
    return { status: response.statusCode!, headers: response.headers, text };
  };
  const key = async (): Promise<string> =>
    (JSON.parse((await send('POST', '/api/key', { ...own, 'everwire-token': token })).text) as { key: string }).key;
  const stream: World['stream'] = async (target, headers) => {
    const response = await open('GET', target.startsWith('/') ? target : `/api/stream${target}`, headers);
    onTestFinished(() => void response.destroy());
    response.on('error', () => {});
    return response;
  };
  return { server, token, origin, own, send, stream, key };
}

/** The first records of a stream. */
async function take(response: IncomingMessage, count: number): Promise<WireRecord[]> {
  const records: WireRecord[] = [];
  for await (const record of await readRecordStream(response)) {
    records.push(record);
    if (records.length === count) break;
  }
  return records;
}

test('the address has a token of 256 bits in its fragment, and only loopback is listened on', async () => {
  const { server, token, send } = await world();
  expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#[\w-]{43}$/);
  expect(Buffer.from(token, 'base64url')).toHaveLength(32);
  const { text } = await send('GET', '/');
  expect(text).toBe('<!doctype html>');
  const other = connect(Number(new URL(server.url).port), '127.0.0.2');
  await expect(new Promise((resolve, reject) => other.on('connect', resolve).on('error', reject))).rejects.toThrow(
    'ECONNREFUSED',
  );
});

test('files have their types, and every response has the headers that protect the page', async () => {
  const { send, own, token } = await world();
  const answers = [
    await send('GET', '/?x=1'),
    await send('GET', '/assets/page.js'),
    await send('GET', '/nothing'),
    await send('DELETE', '/'),
    await send('GET', '/', { host: 'evil.example' }),
    await send('GET', '/api/stream', own),
    await send('POST', '/api/key', { ...own, 'everwire-token': token }),
  ];
  expect(answers.map(({ status, headers }) => [status, headers['content-type']])).toEqual([
    [200, 'text/html; charset=utf-8'],
    [200, 'text/javascript; charset=utf-8'],
    [404, 'text/plain; charset=utf-8'],
    [405, 'text/plain; charset=utf-8'],
    [403, 'text/plain; charset=utf-8'],
    [403, 'text/plain; charset=utf-8'],
    [200, 'application/json'],
  ]);
  for (const { headers } of answers) {
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    });
    const policy = headers['content-security-policy'] as string;
    const rules = ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"];
    rules.push(
      "require-trusted-types-for 'script'",
      'trusted-types everwire-lint',
      "frame-ancestors 'none'",
      "base-uri 'none'",
    );
    expect(policy.split('; ')).toEqual(expect.arrayContaining(rules));
    expect(policy).not.toMatch(/unsafe|\*|https?:|data:/);
    expect(Object.keys(headers).filter((name) => /cookie|access-control|x-powered/.test(name))).toEqual([]);
  }
});

test('only with apps may the page show frames, and only theirs', async () => {
  const embedded: string[] = [];
  const apps = { frames: 'http://*.localhost:4000', embedIn: (page: string) => embedded.push(page) };
  const policyOf = async (options: Partial<PageServerOptions>): Promise<unknown> => {
    const { send, own } = await world(new Capture(), options);
    return (await send('GET', '/', own)).headers['content-security-policy'];
  };
  expect(await policyOf({})).not.toContain('frame-src');
  expect(await policyOf({ apps })).toMatch(/; frame-src http:\/\/\*\.localhost:4000$/);
  expect(embedded).toEqual([expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/)]);
});

test('a foreign Host is refused everywhere, also another name of this machine', async () => {
  const { send, own, token, origin } = await world();
  const { port } = new URL(origin);
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    `localhost:${port}`,
    '127.0.0.1',
    '127.0.0.1:1',
    `127.0.0.1:${port}.evil.example`,
    `[::1]:${port}`,
  ]) {
    expect((await send('GET', '/', { host })).status, host).toBe(403);
    expect((await send('POST', '/api/key', { ...own, host, 'everwire-token': token })).status, host).toBe(403);
  }
  // The token is still unused.
  expect((await send('POST', '/api/key', { ...own, 'everwire-token': token })).status).toBe(200);
});

test('control requests of another page are refused, also with the token or the key', async () => {
  const { send, key, own, token, origin } = await world();
  const foreign: Record<string, string>[] = [{}, { origin }, { 'sec-fetch-site': 'same-origin' }];
  const { port } = new URL(origin);
  const other = ['null', 'http://evil.example', 'http://127.0.0.1:1', 'http://127.0.0.1', `http://localhost:${port}`];
  for (const each of [...other, `${origin}/`, `https://127.0.0.1:${port}`]) foreign.push({ ...own, origin: each });
  for (const site of ['cross-site', 'same-site', 'none', 'same-origin, same-origin'])
    foreign.push({ ...own, 'sec-fetch-site': site });
  for (const headers of foreign)
    expect(
      (await send('POST', '/api/key', { ...headers, 'everwire-token': token })).status,
      JSON.stringify(headers),
    ).toBe(403);
  const secret = { 'everwire-key': await key() };
  // A browser sends no Origin with a GET of the page itself.
  for (const headers of foreign.filter((each) => each['origin'] !== undefined || each['sec-fetch-site'] === undefined))
    expect((await send('GET', '/api/stream', { ...headers, ...secret })).status, JSON.stringify(headers)).toBe(403);
});

test('a token can be used once, and only as a header', async () => {
  const { send, own, token } = await world();
  const wrong: Record<string, string>[] = [
    {},
    { 'everwire-token': '' },
    { 'everwire-token': token.slice(1) },
    { 'everwire-token': `${token}x` },
    { 'everwire-token': token.toLowerCase() },
  ];
  for (const headers of [...wrong, { cookie: `everwire-token=${token}` }, { authorization: `Bearer ${token}` }])
    expect((await send('POST', '/api/key', { ...own, ...headers })).status).toBe(403);
  expect((await send('POST', `/api/key?token=${token}`, own)).status).toBe(403);
  const first = await send('POST', '/api/key', { ...own, 'everwire-token': token });
  expect(JSON.parse(first.text)).toEqual({ key: expect.stringMatching(/^[\w-]{43}$/) });
  expect(first.text).not.toContain(token);
  const second = await send('POST', '/api/key', { ...own, 'everwire-token': token });
  expect([second.status, second.text]).toEqual([
    403,
    'This URL was already used, or is from before Everwire was started again. Open the URL that Everwire printed last, or press Enter in its terminal for a new one.\n',
  ]);
});

test('the URL for the command line of a browser works once, and only until the printed URL is used or renewed', async () => {
  const statuses = async (urlsOf: (server: PageServer) => readonly string[]): Promise<number[]> => {
    const { server, send, own } = await world();
    const found: number[] = [];
    for (const url of urlsOf(server)) {
      const { status } = await send('POST', '/api/key', { ...own, 'everwire-token': new URL(url).hash.slice(1) });
      found.push(status);
    }
    return found;
  };
  expect(await statuses(({ url, browserUrl }) => [browserUrl, browserUrl, url])).toEqual([200, 403, 403]);
  expect(await statuses(({ url, browserUrl }) => [url, browserUrl])).toEqual([200, 403]);
  expect(await statuses((server) => [server.renew(), server.browserUrl].toReversed())).toEqual([403, 200]);
});

test.runIf(process.platform === 'linux' && process.getuid!() === 0)(
  'another user of the machine cannot use the URL that the command line of the browser shows',
  async () => {
    const { server, own, send } = await world();
    const { origin, hash } = new URL(server.browserUrl);
    const headers = { ...own, 'everwire-token': hash.slice(1) };
    const script = `fetch('${origin}/api/key', { method: 'POST', headers: ${JSON.stringify(headers)} }).then(({ status }) => console.log(status))`;
    const other = spawn(process.execPath, ['-e', script], { uid: 65_534, gid: 65_534, cwd: '/', env: {} });
    let answer = '';
    for await (const chunk of other.stdout) answer += String(chunk);
    expect(answer).toBe('403\n');
    expect((await send('POST', '/api/key', headers)).status).toBe(200);
  },
);

test('two exchanges at the same time get one key', async () => {
  const { send, own, token } = await world();
  const both = await Promise.all([1, 2].map(() => send('POST', '/api/key', { ...own, 'everwire-token': token })));
  expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 403]);
});

test('records need the key', async () => {
  const { send, own, token, key } = await world();
  const secret = await key();
  const wrong: Record<string, string>[] = [
    {},
    { 'everwire-key': token },
    { 'everwire-key': secret.slice(1) },
    { 'everwire-key': '' },
    { cookie: `everwire-key=${secret}` },
  ];
  for (const headers of wrong) expect((await send('GET', '/api/stream', { ...own, ...headers })).status).toBe(403);
  expect((await send('GET', `/api/stream?key=${secret}`, own)).status).toBe(403);
});

test('other methods do nothing', async () => {
  const capture = new Capture();
  const { send, own, token, key } = await world(capture);
  for (const method of ['OPTIONS', 'PUT', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND', 'GET', 'HEAD']) {
    const { status, headers } = await send(method, '/api/key', { ...own, 'everwire-token': token });
    expect([status, headers['allow']], method).toEqual([405, 'POST']);
  }
  const preflight = {
    origin: 'http://evil.example',
    'sec-fetch-site': 'cross-site',
    'access-control-request-method': 'POST',
  };
  expect((await send('OPTIONS', '/api/key', preflight)).status).toBe(403);
  const secret = { ...own, 'everwire-key': await key() };
  capture.close();
  for (const method of ['POST', 'HEAD', 'OPTIONS'])
    expect((await send(method, '/api/stream', secret)).status).toBe(405);
  expect(await send('HEAD', '/')).toMatchObject({ status: 200, text: '', headers: { 'content-length': '15' } });
  expect(await send('POST', '/', own)).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
});

test('only the files of the folder can be read', async () => {
  const { send, origin } = await world();
  for (const target of [
    '/../page-server.ts',
    '/%2e%2e/x',
    '/assets/../index.html',
    '/..%2findex.html',
    '//index.html',
    '/assets/',
    '/assets',
    '/index.html%00',
    '/constructor',
    '/__proto__',
    '/api',
    '/api/',
    '/api/stream/',
    `${origin}/`,
    '*',
    '/\\..\\x',
  ])
    expect((await send('GET', target)).status, target).toBe(404);
  expect((await send('GET', '/index.html')).status).toBe(200);
});

test('a folder must have a page, and only files whose types are known', async () => {
  const capture = new Capture();
  await expect(servePage({ capture, feed, folder: folder({ 'a.js': '' }), port: 0 })).rejects.toThrow(
    /there is no index\.html in /,
  );
  await expect(
    servePage({ capture, feed, folder: folder({ 'index.html': '', 'run.sh': '' }), port: 0 }),
  ).rejects.toThrow('run.sh has a type that is not served');
  const root = folder({ 'index.html': '' });
  symlinkSync('/etc/hosts', path.join(root, 'hosts.txt'));
  await expect(servePage({ capture, feed, folder: root, port: 0 })).rejects.toThrow('hosts.txt is not a regular file');
});

test('a port that is in use is named', async () => {
  const { server } = await world();
  const port = Number(new URL(server.url).port);
  await expect(servePage({ capture: new Capture(), feed, folder: folder(), port })).rejects.toThrow(
    `port ${port} on 127.0.0.1 is already in use`,
  );
});

test('records are a recording, live, and can be resumed by their number', async () => {
  const capture = new Capture();
  const { own, key, stream } = await world(capture);
  const tap = capture.open({ protocol: 'stdio', role: 'client' });
  tap.bytes('c>s', Buffer.from('{"id":1,"method":"ping"}\n'));
  const headers = { ...own, 'everwire-key': await key() };
  const live = await stream('', headers);
  expect(live.headers['content-type']).toBe('application/x-ndjson');
  const reading = await readRecordStream(live);
  expect(reading.header).toMatchObject({
    mcpcap: 1,
    started: capture.started.toISOString(),
    target: 'node server.js',
    masked: [],
  });
  const records = reading[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => (await records.next()).value;
  expect(await next()).toMatchObject({ n: 1, layer: 'open' });
  expect(await next()).toMatchObject({ n: 2, layer: 'bytes', bytes: Buffer.from('{"id":1,"method":"ping"}\n') });
  expect(await next()).toMatchObject({ n: 3, layer: 'line' });
  expect(await next()).toMatchObject({ n: 4, layer: 'message', method: 'ping' });
  tap.bytes('s>c', Buffer.from([0xff, 0x0a]));
  expect(await next()).toMatchObject({ n: 5, bytes: Buffer.from([0xff, 0x0a]) });
  expect((await take(await stream('?after=4', headers), 2)).map(({ n }) => n)).toEqual([5, 6]);
  capture.close();
  expect(await next()).toMatchObject({ n: 6 });
  expect(await next()).toBeUndefined();
});

test('a secret is shown to the page with its place, because the page masks it', async () => {
  const capture = new Capture();
  const { own, key, stream } = await world(capture);
  capture.open({ protocol: 'http', role: 'client' }).bytes('c>s', Buffer.from('GET / HTTP/1.1\r\ncookie: abc\r\n\r\n'));
  const [, bytes] = await take(await stream('', { ...own, 'everwire-key': await key() }), 2);
  expect(bytes).toMatchObject({ secret: [24, 27], bytes: Buffer.from('GET / HTTP/1.1\r\ncookie: abc\r\n\r\n') });
});

test('a place that is no number is refused', async () => {
  const { send, own, key } = await world();
  const headers = { ...own, 'everwire-key': await key() };
  for (const query of [
    '?after=',
    '?after=-1',
    '?after=x',
    '?after=1e400',
    '?after=1.5',
    '?after=1&after=2',
    '?before=1',
    '?',
  ])
    expect((await send('GET', `/api/stream${query}`, headers)).status, query).toBe(400);
});

test('a slow page gets a gap instead of what was forgotten, and costs no memory', async () => {
  const capture = new Capture({ maxRecords: 500 });
  const { own, key, stream } = await world(capture);
  const tap = capture.open({ protocol: 'stdio', role: 'client' });
  const slow = await stream('', { ...own, 'everwire-key': await key() });
  slow.pause();
  // Far more than the buffers of two sockets take.
  for (let at = 0; at < 2000; at += 1) {
    tap.bytes('s>c', Buffer.alloc(64 * 1024, 'x'));
    if (at % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  capture.close();
  const records: WireRecord[] = [];
  for await (const record of await readRecordStream(slow)) records.push(record);
  const gap = records.find(({ layer }) => layer === 'gap');
  expect(gap).toBeDefined();
  expect(records.at(-1)!.n).toBe(capture.newest);
  expect(records.length).toBeLessThan(1500);
  let last = 0;
  for (const record of records) {
    expect(record.layer === 'gap' ? record.from : record.n).toBe(last + 1);
    last = record.n;
  }
});

test('five streams can be open, and a newer one ends the oldest, which says why', async () => {
  const { own, key, stream } = await world();
  const headers = { ...own, 'everwire-key': await key() };
  const streams: IncomingMessage[] = [];
  for (let at = 0; at < 7; at += 1) streams.push(await stream('', headers));
  for (const ended of streams.slice(0, 2)) {
    let text = '';
    for await (const chunk of ended.setEncoding('utf8')) text += chunk;
    expect(text.trimEnd().split('\n').at(-1)).toMatch(/^\{"closed":"The inspector is open in more than 5 tabs, /);
  }
  expect(streams.slice(2).map(({ readableEnded, destroyed }) => readableEnded || destroyed)).toEqual(
    Array.from({ length: 5 }, () => false),
  );
});

test('a page that leaves is no longer a reader of the capture, also if it was slow', async () => {
  for (const size of [1, 64 * 1024]) {
    const capture = new Capture();
    const tap = capture.open({ protocol: 'stdio', role: 'client' });
    for (let at = 0; at < 500; at += 1) tap.bytes('s>c', Buffer.alloc(size, 'x'));
    let onended!: () => void;
    const ended = new Promise<void>((resolve) => (onended = resolve));
    async function* records(options: RecordsOptions = {}): AsyncGenerator<readonly WireRecord[], void> {
      try {
        yield* capture.records(options);
      } finally {
        onended();
      }
    }
    const { stream, own, key } = await world({ started: capture.started, newest: capture.newest, records });
    const leaving = await stream('', { ...own, 'everwire-key': await key() });
    await once(leaving, 'readable');
    leaving.destroy();
    await ended;
  }
});

test('closing ends the streams and the connections', async () => {
  const { server, own, key, stream } = await world();
  const open = await stream('', { ...own, 'everwire-key': await key() });
  const ended = new Promise((resolve) => open.on('close', resolve));
  open.resume();
  await server.close();
  await ended;
  await server.close();
  await expect(stream('', own)).rejects.toThrow('ECONNREFUSED');
});

describe('the state', () => {
  test('is streamed whole after changes, and a slow page gets only the newest', async () => {
    const own = fixedState('observer', 'x');
    const { key, own: headers, stream } = await world(new Capture(), { feed: own });
    const response = await stream('', { ...headers, 'everwire-key': await key() });
    expect(response.headers['content-type']).toBe('application/x-ndjson');
    response.setEncoding('utf8');
    const texts = response[Symbol.asyncIterator]() as AsyncIterator<string>;
    const next = async (): Promise<InspectorState> => {
      let text = '';
      while (!/^\{"state":.*\n/m.test(text)) text += (await texts.next()).value as string;
      return (JSON.parse(text.trimEnd().split('\n').at(-1)!) as { state: InspectorState }).state;
    };
    expect(await next()).toEqual(own.state);
    for (let at = 1; at <= 10_000; at += 1) own.update({ target: `${at} ${'x'.repeat(10_000)}` });
    // 100 MB of changes in one turn are one state.
    expect(response.readableLength).toBe(0);
    expect((await next()).target).toMatch(/^10000 /);
  });
});

describe('a command', () => {
  const called: unknown[] = [];
  const commands = {
    disconnect: (nothing: object) => void called.push(nothing),
    cancel: (what: object) => void called.push(what),
    listSaved: async () => [{ name: 'One', method: 'tools/call', params: { name: 'ä' } }],
    subscribe: async () => {
      throw new CommandRefused(409, 'There is no connection.');
    },
    unsubscribe: async () => {
      throw new Error('The server refused.');
    },
  } as unknown as PageCommands;
  const json = { 'content-type': 'application/json' };

  test('is run with its argument, and answered with its result or with the reason of a refusal', async () => {
    const { send, own, key } = await world(new Capture(), { commands });
    const headers = { ...own, ...json, 'everwire-key': await key() };
    expect(await send('POST', '/api/disconnect', headers, '{}')).toMatchObject({ status: 204, text: '' });
    expect(called.splice(0)).toEqual([{}]);
    expect(await send('POST', '/api/listSaved', headers, '{}')).toMatchObject({
      status: 200,
      text: '[{"name":"One","method":"tools/call","params":{"name":"ä"}}]',
    });
    for (const [name, error] of [
      ['subscribe', 'There is no connection.'],
      ['unsubscribe', 'The server refused.'],
    ] as const)
      expect(await send('POST', `/api/${name}`, headers, '{"uri":"x"}')).toMatchObject({
        status: 409,
        text: JSON.stringify({ error }),
      });
  });

  test('that is malformed is refused, and names what is wrong', async () => {
    const { send, own, key } = await world(new Capture(), { commands });
    const headers = { ...own, ...json, 'everwire-key': await key() };
    for (const [name, body, error] of [
      ['cancel', '', 'The body of a command must be JSON.'],
      ['cancel', '[]', 'The argument of a command must be a JSON object.'],
      ['cancel', '{}', '"key" of cancel must be a string of 1 to 200 characters.'],
      ['cancel', '{"key":""}', '"key" of cancel must be a string of 1 to 200 characters.'],
      ['cancel', '{"key":"a","x":1}', 'cancel has no field "x".'],
      ['disconnect', '{"__proto__":1}', 'disconnect has no field "__proto__".'],
      ['request', '{"key":"a","method":"m","params":{}}', '"params" of request must be a string.'],
      ['connect', '{"revision":"1999-01-01"}', /^"revision" of connect must be one of 2024-11-05, /],
      ['connect', '{"headers":{"a":1}}', '"headers" of connect must be an object of strings.'],
      ['answer', '{"question":-1}', '"question" of answer must be a whole number that is not negative.'],
      ['answer', '{"question":1,"result":[]}', '"result" of answer must be an object.'],
      ['setRoots', '{"roots":[{}]}', '"roots" of setRoots must be a list of roots.'],
      ['save', '{"name":" ","method":"tools/call","params":"{}"}', /^"name" of save must be one line of 1 to 100 char/],
      ['save', '{"name":"a\\u202eb","method":"tools/call","params":"{}"}', /^"name" of save must be one line/],
      ['save', '{"name":"a","method":"ping","params":"{}"}', /^"method" of save must be one of tools\/call, /],
      [
        'save',
        '{"name":"a","method":"tools/call","params":"{}","replace":1}',
        '"replace" of save must be true or false.',
      ],
      ['setLogLevel', '{"level":"loud"}', /^"level" of setLogLevel must be one of debug, /],
    ] as const) {
      const { status, text } = await send('POST', `/api/${name}`, headers, body);
      expect(status, body).toBe(400);
      expect((JSON.parse(text) as { error: string }).error).toMatch(error);
    }
    expect(called).toEqual([]);
  });

  test('needs the key, the page itself, JSON and a limited size', async () => {
    const { send, own, key, origin } = await world(new Capture(), { commands });
    const headers = { ...own, ...json, 'everwire-key': await key() };
    const post = async (other: Record<string, string>, body = '{}'): Promise<number> =>
      (await send('POST', '/api/disconnect', { ...headers, ...other }, body)).status;
    expect(await post({ 'everwire-key': 'x' })).toBe(403);
    expect(await post({ origin: 'http://127.0.0.1:1' })).toBe(403);
    expect(await post({ origin: `${origin}.evil.example` })).toBe(403);
    expect(await post({ 'sec-fetch-site': 'same-site' })).toBe(403);
    expect(await post({ host: 'evil.example' })).toBe(403);
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', 'application/jsonx'])
      expect(await post({ 'content-type': type }), type).toBe(415);
    expect(await post({ 'content-length': String(64 * 1024 * 1024 + 1) }, '')).toBe(413);
    expect((await send('GET', '/api/disconnect', headers)).status).toBe(405);
    expect((await send('POST', '/api/constructor', headers, '{}')).status).toBe(404);
    expect(called).toEqual([]);
    expect(await post({ 'content-type': 'application/json; charset=utf-8' })).toBe(204);
    expect(called.splice(0)).toEqual([{}]);
  });

  test('is refused if the page only shows traffic', async () => {
    const { send, own, key } = await world();
    const headers = { ...own, ...json, 'everwire-key': await key() };
    for (const name of ['connect', 'request', 'answer', 'setRoots', 'disconnect'])
      expect((await send('POST', `/api/${name}`, headers, '{}')).status, name).toBe(409);
  });
});

describe('a request of the page', () => {
  /** Commands whose requests end when the test says so, and the keys of those that were cancelled. */
  function requests() {
    const finish = new Map<string, (outcome: RequestOutcome) => void>();
    const cancelled: string[] = [];
    const commands = {
      request: ({ key }: { key: string }) => {
        if (key === 'refused') return Promise.reject(new CommandRefused(409, 'There is no connection.'));
        return new Promise((resolve) => finish.set(key, resolve));
      },
      cancel: ({ key }: { key: string }) => void cancelled.push(key),
    } as unknown as PageCommands;
    return { finish, cancelled, commands };
  }

  const json = { 'content-type': 'application/json' };

  test('is answered when it is sent, and its outcome can be taken once when it has ended', async () => {
    const own = fixedState('observer', 'x');
    const { commands, finish } = requests();
    const { send, own: headers, key } = await world(new Capture(), { commands, feed: own });
    const all = { ...headers, ...json, 'everwire-key': await key() };
    const post = (name: string, body: object) => send('POST', `/api/${name}`, all, JSON.stringify(body));
    const list = { method: 'm', params: '{}' };
    expect((await post('request', { key: 'a', ...list })).status).toBe(204);
    expect(await post('request', { key: 'a', ...list })).toMatchObject({ status: 409 });
    expect(await post('request', { key: 'refused', ...list })).toMatchObject({
      status: 409,
      text: '{"error":"There is no connection."}',
    });
    expect((await post('outcome', { key: 'a' })).status).toBe(409);
    finish.get('a')!({ result: { large: 'x'.repeat(1_000_000) }, duration: 1 });
    await expect.poll(() => own.state.finished).toEqual(['a']);
    const { status, text } = await post('outcome', { key: 'a' });
    expect([status, (JSON.parse(text) as { result: { large: string } }).result.large.length]).toEqual([200, 1_000_000]);
    expect(own.state.finished).toEqual([]);
    expect((await post('outcome', { key: 'a' })).status).toBe(409);
  });

  test('is cancelled when the last page has gone', async () => {
    const { commands, cancelled } = requests();
    const { send, own, key, stream } = await world(new Capture(), { commands });
    const headers = { ...own, 'everwire-key': await key() };
    const pages = [await stream('', headers), await stream('', headers)];
    await send('POST', '/api/request', { ...headers, ...json }, '{"key":"a","method":"m","params":"{}"}');
    pages[0]!.destroy();
    expect((await stream('', headers).then((third) => third.destroy())).destroyed).toBe(true);
    expect(cancelled).toEqual([]);
    pages[1]!.destroy();
    await expect.poll(() => cancelled).toEqual(['a']);
  });
});

test('another address replaces the one before, and the tabs that are open keep their keys', async () => {
  const { server, send, own, token, key } = await world();
  const first = await key();
  const [second, third] = [server.renew(), server.renew()].map((url) => new URL(url).hash.slice(1));
  for (const wrong of [token, second!])
    expect((await send('POST', '/api/key', { ...own, 'everwire-token': wrong })).status).toBe(403);
  const answer = await send('POST', '/api/key', { ...own, 'everwire-token': third! });
  const { key: other } = JSON.parse(answer.text) as { key: string };
  for (const each of [first, other])
    expect((await send('POST', '/api/disconnect', { ...own, 'everwire-key': each }, '{}')).status).toBe(409);
});

test('connections that have not shown the key are limited, and one that has stays open', async () => {
  const { server, own, key, stream } = await world();
  const port = Number(new URL(server.url).port);
  const opened = await stream('', { ...own, 'everwire-key': await key() });
  expect(opened.statusCode).toBe(200);
  let closed = 0;
  const sockets = Array.from({ length: 200 }, () => connect(port, '127.0.0.1'));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  for (const socket of sockets) socket.on('error', () => {}).on('close', () => (closed += 1));
  await expect.poll(() => closed).toBe(72);
  expect(sockets.slice(72).every(({ destroyed }) => !destroyed)).toBe(true);
  expect(opened.destroyed).toBe(false);
});
