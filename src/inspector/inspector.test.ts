import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { node } from '../../test/support/command-line.ts';
import { featureServer } from '../../test/support/features.ts';
import { programs } from '../../test/support/process.ts';
import { Deferred } from '../base/deferred.ts';
import { Capture } from '../inspect/capture.ts';
import type { ConnectCommand, InspectorState, RequestOutcome } from '../inspect/page-server/page-api.ts';
import { McpServer } from '../server/index.ts';
import { Inspector, type Choice } from './inspector.ts';
import { sendRawRequest } from './raw-request.ts';
import { SavedCalls } from './saved-calls.ts';

class World {
  readonly inspector: Inspector;
  #key = 0;

  constructor(choices: readonly Choice[] = []) {
    this.inspector = new Inspector({ capture: new Capture(), choices });
    onTestFinished(() => this.inspector.close());
  }

  /** The first state that fits. */
  async until(fits: (state: InspectorState) => unknown): Promise<InspectorState> {
    for await (const state of this.inspector.feed.states(new AbortController().signal)) if (fits(state)) return state;
    throw new Error('the states have ended');
  }

  async connect(to: ConnectCommand): Promise<InspectorState> {
    this.inspector.connect(to);
    const state = await this.until(({ connection: { status } }) => status !== 'connecting');
    if (state.connection.status !== 'connected') throw new Error(JSON.stringify(state.connection));
    return state;
  }

  call(name: string, args: object = {}): { readonly key: string; readonly outcome: Promise<RequestOutcome> } {
    this.#key += 1;
    const key = String(this.#key);
    const params = JSON.stringify({ name, arguments: args });
    return { key, outcome: this.inspector.request({ key, method: 'tools/call', params }) };
  }
}

/** A command as the only choice. */
const command = (...args: readonly string[]): Choice => ({
  ...{ id: 'x', name: 'x', source: 'test', detail: '' },
  server: { kind: 'command', target: { command: node, args, stopTimeout: 500 } },
});

async function listen(server: McpServer): Promise<string> {
  const listener = await server.listen({ port: 0 });
  onTestFinished(() => listener.close());
  return listener.url;
}

/** Connected to the feature server. */
async function connected(to: Omit<ConnectCommand, 'url'> = {}): Promise<World> {
  const world = new World();
  await world.connect({ ...to, url: await listen(featureServer()) });
  return world;
}

const text = ({ result }: RequestOutcome): string => (result!['content'] as { text: string }[])[0]!.text;

describe('requests', () => {
  test('have the result or the error of the server, and their time', async () => {
    const { inspector, call } = bound(await connected());
    expect(await call('add', { a: 1, b: 2 }).outcome).toMatchObject({
      result: { structuredContent: { result: 3 } },
      duration: expect.any(Number) as number,
    });
    expect(await inspector.request({ key: 'a', method: 'no/such', params: '{}' })).toMatchObject({
      error: { code: -32601, message: expect.any(String) as string },
    });
    expect(await call('fail').outcome).toMatchObject({ result: { isError: true } });
  });

  test('show their progress while they run', async () => {
    const { call, until } = bound(await connected());
    const { outcome } = call('count', { to: 3 });
    const { running } = await until((state) => state.running[0]?.progress);
    expect(running).toMatchObject([{ key: '1', method: 'tools/call', progress: { total: 3 } }]);
    expect(text(await outcome)).toBe('counted to 3');
    expect((await until(() => true)).running).toEqual([]);
  });

  test('end with an error when they are cancelled, and the server is told', async () => {
    const { inspector, call, until } = bound(await connected());
    const { key, outcome } = call('wait');
    await until((state) => state.running[0]?.progress);
    inspector.cancel({ key });
    expect(await outcome).toMatchObject({ error: { message: 'Cancelled' } });
    await expect.poll(async () => text(await call('cancellations').outcome)).toBe('1');
    inspector.cancel({ key });
  });

  test('can have a limit of time', async () => {
    const { inspector } = bound(await connected());
    const params = JSON.stringify({ name: 'sleep', arguments: { ms: 5000 } });
    const outcome = await inspector.request({ key: 'a', method: 'tools/call', params, timeout: 50 });
    expect(outcome.error?.message).toMatch(/50 ms/);
  });

  test('are refused without a connection, with a key that is in use, and if their parameters would change', async () => {
    const { inspector, call } = bound(await connected());
    void call('wait').outcome;
    const request = (key: string, params: string) => inspector.request({ key, method: 'tools/list', params });
    await expect(request('1', '{}')).rejects.toMatchObject({
      status: 409,
      message: 'A request "1" is already running.',
    });
    await expect(request('2', '{"a":9007199254740993}')).rejects.toMatchObject({ status: 400 });
    inspector.disconnect();
    await expect(request('2', '{}')).rejects.toMatchObject({ status: 409, message: 'There is no connection.' });
  });
});

describe('questions', () => {
  test('wait for an answer, which is checked and sent', async () => {
    const { inspector, call, until } = bound(await connected());
    const { outcome } = call('ask');
    const { questions } = await until((state) => state.questions.length > 0);
    expect(questions).toMatchObject([{ id: 1, method: 'elicitation/create', params: { message: 'Who are you?' } }]);
    for (const result of [{}, { action: 'yes' }, { action: 'accept' }, { action: 'accept', content: { name: 1 } }])
      await expect(inspector.answer({ question: 1, result })).rejects.toMatchObject({ status: 400 });
    await expect(inspector.answer({ question: 1 })).rejects.toThrow('either a result or an error');
    await inspector.answer({ question: 1, result: { action: 'accept', content: { name: 'Ada' } } });
    expect(JSON.parse(text(await outcome))).toEqual({ action: 'accept', content: { name: 'Ada' } });
    await expect(inspector.answer({ question: 1, result: { action: 'cancel' } })).rejects.toMatchObject({
      status: 409,
    });
  });

  test('of several calls wait side by side, and each gets its own answer', async () => {
    const { inspector, call, until } = bound(await connected());
    const calls = Array.from({ length: 8 }, () => call('ask').outcome);
    const { questions } = await until((state) => state.questions.length === 8);
    for (const { id } of questions) {
      const content = { name: `Ada ${id}` };
      await inspector.answer({ question: id, result: { action: 'accept', content } });
    }
    const names = (await Promise.all(calls)).map((outcome) => text(outcome));
    expect(new Set(names).size).toBe(8);
  });

  test('can be refused, and are withdrawn with their call', async () => {
    const { inspector, call, until } = bound(await connected());
    const refused = call('sample', { prompt: 'Hello' });
    const { questions } = await until((state) => state.questions.length > 0);
    expect(questions).toMatchObject([{ method: 'sampling/createMessage', params: { systemPrompt: 'Be brief.' } }]);
    await inspector.answer({ question: 1, error: { message: 'No' } });
    expect(JSON.stringify(await refused.outcome)).toContain('No');
    const cancelled = call('sample', { prompt: 'Hello' });
    await until((state) => state.questions[0]?.id === 2);
    inspector.cancel(cancelled);
    await until((state) => state.questions.length === 0);
  });

  test('for a visit have the whole address', async () => {
    const { inspector, call, until } = bound(await connected());
    const { outcome } = call('visit');
    const [question] = (await until((state) => state.questions.length > 0)).questions;
    expect(question!.params).toMatchObject({ mode: 'url', url: expect.stringMatching(/^https:/) as string });
    await inspector.answer({ question: 1, result: { action: 'accept' } });
    expect(text(await outcome)).toContain('accept');
  });

  test('are limited in number', async () => {
    const server = new McpServer({ name: 'asks', version: '1' });
    const requestedSchema = { type: 'object', properties: {} } as const;
    server.tool('ask', {}, async (_, ctx) => {
      const all = Array.from({ length: 101 }, () => ctx.elicit({ message: '?', requestedSchema }));
      return JSON.stringify((await Promise.allSettled(all)).filter(({ status }) => status === 'rejected').length);
    });
    const { inspector, connect, call, until } = bound(new World());
    await connect({ url: await listen(server), revision: '2025-11-25' });
    const { outcome } = call('ask');
    const { questions } = await until((state) => state.questions.length === 100);
    for (const { id } of questions) await inspector.answer({ question: id, result: { action: 'decline' } });
    expect(text(await outcome)).toBe('1');
  });
});

describe.each(['2025-11-25', '2026-07-28'] as const)('in %s', (revision) => {
  test('the server gets the roots of the person', async () => {
    const { inspector, call } = bound(await connected({ revision }));
    const roots = [{ uri: 'file:///project', name: 'project' }];
    await inspector.setRoots({ roots });
    expect(text(await call('roots').outcome)).toContain('file:///project');
    expect(inspector.feed.state.roots).toEqual(roots);
    await expect(inspector.setRoots({ roots: [{ uri: 'https://example.com/' }] })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('file://') as string,
    });
  });

  test('subscriptions and the level of the log are set, and shown', async () => {
    const { inspector, until } = bound(await connected({ revision }));
    await inspector.subscribe({ uri: 'feature://fixed' });
    await inspector.subscribe({ uri: 'feature://fixed' });
    await inspector.setLogLevel({ level: 'debug' });
    expect(await until(() => true)).toMatchObject({ subscriptions: ['feature://fixed'], logLevel: 'debug' });
    await inspector.unsubscribe({ uri: 'feature://fixed' });
    await until((state) => state.subscriptions.length === 0);
  });
});

describe('raw messages', () => {
  test('go over HTTP as they are written, and only then', async () => {
    const received = new Deferred<string>();
    const server = createServer((socket) => {
      let got = '';
      socket.on('data', (chunk) => {
        got += chunk.toString('latin1');
        if (got.endsWith('\xff')) {
          received.resolve(got);
          socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n');
        }
      });
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const signal = new AbortController().signal;
    const capture = new Capture();
    const head = 'POST /any path HTTP/1.1\nX: \u00e4\nx: 2';
    const body = Buffer.from([123, 0, 255]);
    await sendRawRequest(new URL(`http://127.0.0.1:${port}/mcp`), { head, body }, capture, signal);
    expect(await received.promise).toBe(
      `POST /any path HTTP/1.1\r\nX: \xc3\xa4\r\nx: 2\r\nContent-Length: 3\r\nConnection: close\r\n\r\n{\0\xff`,
    );
  });

  test('need a connection, and a head only over HTTP', async () => {
    const { inspector } = await connected();
    const line = { body: '{}', encoding: 'utf8' } as const;
    await expect(inspector.resend(line)).rejects.toMatchObject({ status: 400 });
    inspector.disconnect();
    await expect(inspector.resend(line)).rejects.toMatchObject({ status: 409, message: 'There is no connection.' });
    const other = new World([command(...programs.features, '--stdio')]);
    await other.connect({ choice: 'x' });
    await expect(other.inspector.resend({ ...line, head: 'POST / HTTP/1.1' })).rejects.toMatchObject({ status: 400 });
  });

  test('end with the connection if the host does not answer', async () => {
    const server = createServer((socket) => void socket.resume()).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const closing = new AbortController();
    const url = new URL(`http://127.0.0.1:${port}/mcp`);
    const [socket] = await Promise.all([
      once(server, 'connection').then(([accepted]) => accepted as Socket),
      sendRawRequest(url, { head: 'GET / HTTP/1.1', body: Buffer.alloc(0) }, new Capture(), closing.signal),
    ]);
    socket.on('error', () => {});
    closing.abort();
    await once(socket, 'close');
  });
});

describe('the state stays small', () => {
  test('if the description of a server or the message of its progress is large', async () => {
    const server = new McpServer({ name: 'large', version: '1', instructions: 'x'.repeat(1_000_000) });
    server.tool('tell', {}, async (_, ctx) => {
      await ctx.progress(1, 2, 'y'.repeat(1_000_000));
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
    });
    const { connect, call, until, inspector } = bound(new World());
    await connect({ url: await listen(server) });
    const { key, outcome } = call('tell');
    const state = await until(({ running }) => running[0]?.progress);
    expect(JSON.stringify(state).length).toBeLessThan(10_000);
    inspector.cancel({ key });
    await outcome;
  });

  test('without the largest parts of a description: its capabilities and its name are kept', async () => {
    const icons = [{ src: `data:image/png;base64,${'x'.repeat(400_000)}` }];
    const server = new McpServer({ name: 'large', version: '1', icons, instructions: 'short' });
    server.tool('one', {}, () => '1');
    const { connect, until } = bound(new World());
    await connect({ url: await listen(server) });
    const { discovered } = (await until(({ connection }) => connection.status === 'connected')).connection;
    expect(discovered).toMatchObject({
      capabilities: { tools: {} },
      serverInfo: { name: 'large', version: '1' },
      instructions: 'short',
    });
    expect(JSON.stringify(discovered).length).toBeLessThan(10_000);
  });
});

describe('a connection', () => {
  test('ends the one before, with its process', async () => {
    const child = 'process.stderr.write(process.pid + "\\n"); process.argv.push("--stdio")';
    const world = new World([command('-e', `${child}; import(${JSON.stringify(programs.features[0])})`)]);
    const { connection } = await world.connect({ choice: 'x' });
    const pid = Number(connection.stderr[0]);
    expect(process.kill(pid, 0)).toBe(true);
    await world.connect({ url: await listen(featureServer()) });
    await expect.poll(() => isRunning(pid)).toBe(false);
    expect(world.inspector.feed.state.connection.status).toBe('connected');
  });

  test('that is refused shows why, whatever the server sends as its reason', async () => {
    const error = (message: unknown, code: unknown): string =>
      `process.stdin.on('data', (line) => console.log(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(line).id, error: ${JSON.stringify({ code, message })} })))`;
    const failed = async (script: string): Promise<readonly unknown[]> => {
      const { inspector, until } = bound(new World([command('-e', script)]));
      inspector.connect({ choice: 'x' });
      const { connection } = await until(({ connection: { status } }) => status === 'failed');
      return connection.attempts.map(({ detail }) => detail);
    };
    expect(await failed(error('no', -32_603))).toContain('no (-32603)');
    expect(await failed(error({ toString: 1 }, { toString: 1 }))).toContain('no message');
  });

  test('that is lost is closed, with the reason', async () => {
    const dying = `process.argv.push('--stdio'); import(${JSON.stringify(programs.features[0])});
      process.once('SIGUSR2', () => { console.error('out of ideas'); process.exit(9); }); console.error(process.pid)`;
    const { connect, until, call } = bound(new World([command('-e', dying)]));
    const { connection } = await connect({ choice: 'x' });
    const { outcome } = call('wait');
    await until((state) => state.running[0]?.progress);

    process.kill(Number(connection.stderr[0]), 'SIGUSR2');
    expect((await outcome).error?.message).toContain('exited with code 9');
    const closed = await until((state) => state.connection.status === 'closed' && state.connection.problem);
    expect(closed.connection).toMatchObject({
      problem: { step: 'command', message: expect.stringMatching(/ exited with code 9\.$/) as string },
      stderr: [expect.any(String) as string, 'out of ideas'],
    });
  });

  test('needs one server, which is a choice or a URL', () => {
    const { inspector } = new World([command('-e', '')]);
    const wrong: ConnectCommand[] = [
      {},
      { choice: 'x', url: 'http://localhost/' },
      { choice: 'y' },
      { url: 'file:///etc/passwd' },
      { url: 'http://user:secret@localhost/' },
      { url: 'http://localhost/', headers: { 'a b': 'c' } },
      { url: 'http://localhost/', headers: { a: 'b\r\nc: d' } },
      { choice: 'x', headers: { a: 'b' } },
      { choice: 'x', transport: 'sse' },
    ];
    for (const to of wrong)
      expect(() => inspector.connect(to), JSON.stringify(to)).toThrow(expect.objectContaining({ status: 400 }));
    expect(inspector.feed.state.connection.status).toBe('idle');
  });
});

/** The functions of a world, so that a test can take those that it needs. */
function bound(world: World) {
  return {
    inspector: world.inspector,
    connect: world.connect.bind(world),
    until: world.until.bind(world),
    call: world.call.bind(world),
  };
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('saved calls', () => {
  const one = { name: 'One', method: 'tools/call', params: '{"name":"add"}' } as const;

  /** An inspector with a file. */
  function withFile(choices: readonly Choice[] = []): { inspector: Inspector; file: string } {
    const folder = mkdtempSync(path.join(tmpdir(), 'everwire-saved-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = path.join(folder, 'saved.json');
    const inspector = new Inspector({ capture: new Capture(), choices, saved: new SavedCalls({ file }) });
    onTestFinished(() => inspector.close());
    return { inspector, file };
  }

  test('belong to the name of the configuration, or to the host of a URL without its path', async () => {
    const url = new URL('http://127.0.0.1:1/mcp');
    const choice: Choice = {
      id: 'a',
      name: 'mine',
      source: 'mcp.json',
      detail: '',
      server: { kind: 'url', url, headers: {} },
    };
    const { inspector, file } = withFile([choice]);
    await expect(inspector.listSaved()).rejects.toThrow('Connect to a server first.');
    inspector.connect({ url: 'http://127.0.0.1:1/a-secret-path?key=another' });
    await inspector.save(one);
    expect(await inspector.listSaved()).toEqual([{ ...one, params: { name: 'add' } }]);
    inspector.connect({ choice: 'a' });
    expect(await inspector.listSaved()).toEqual([]);
    await inspector.save(one);
    const { servers } = JSON.parse(readFileSync(file, 'utf8')) as { servers: object };
    expect(Object.keys(servers)).toEqual(['127.0.0.1', 'mine']);
    expect(inspector.feed.state.saved).toEqual({ file, changes: 2 });
    await inspector.removeSaved({ name: 'One' });
    expect(await inspector.listSaved()).toEqual([]);
    expect(inspector.feed.state.saved?.changes).toBe(3);
  });

  test('rules of the file are added turned off, all of them or none', async () => {
    const { inspector, file } = withFile();
    inspector.connect({ url: 'http://127.0.0.1:1/' });
    const rules = (...filters: readonly string[]): void => {
      const action = { type: 'hold' };
      const list = filters.map((filter) => ({ filter, action, enabled: true }));
      writeFileSync(file, JSON.stringify({ version: 1, servers: {}, rules: { '127.0.0.1': list } }));
    };
    rules('tool:a', 'method:');
    await expect(inspector.addSavedRules()).rejects.toThrow('value');
    expect(inspector.breakpoints.state.rules).toEqual([]);
    rules(...Array.from({ length: 101 }, (_, at) => `tool:t${at}`));
    await expect(inspector.addSavedRules()).rejects.toThrow('There can be at most 100 rules.');
    expect(inspector.breakpoints.state.rules).toEqual([]);
    rules('tool:a', 'tool:b');
    expect(await inspector.addSavedRules()).toEqual({ added: 2 });
    const off = { action: { type: 'hold' }, enabled: false, matches: 0 };
    expect(inspector.breakpoints.state.rules).toMatchObject([
      { id: 1, filter: 'tool:a', ...off },
      { id: 2, filter: 'tool:b', ...off },
    ]);
    inspector.breakpoints.setRule({ id: 1, filter: 'tool:a', action: { type: 'hold' }, enabled: true });
    expect(await inspector.addSavedRules()).toEqual({ added: 0 });
  });

  test('have no header, and a header that is an argument is refused', async () => {
    const { inspector, file } = withFile();
    inspector.connect({ url: 'http://127.0.0.1:1/', headers: { authorization: 'Token hidden-value' } });
    await expect(inspector.save({ ...one, params: '{"arguments":{"a":"hidden-value"}}' })).rejects.toThrow(
      'The call contains a secret, so it is not saved.',
    );
    await inspector.save(one);
    expect(readFileSync(file, 'utf8')).not.toContain('hidden');
  });

  test('are refused by an inspector without a file', async () => {
    const inspector = new Inspector({ capture: new Capture(), choices: [] });
    onTestFinished(() => inspector.close());
    expect(inspector.feed.state.saved).toBeUndefined();
    await expect(inspector.save(one)).rejects.toThrow('Connect to a server first.');
  });
});
