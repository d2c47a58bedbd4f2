import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { connect as connectOurs } from 'everwire/client';
import { connect as connectOfficial, type ClientKind } from '../interop/clients.ts';
import { Events, initialize, POST_HEADERS } from '../support/http.ts';
import { programs, root, startNode } from '../support/process.ts';
import { findRedis, startRedis, type RedisServer } from '../support/redis-server.ts';
import { at, World, type Address } from './world.ts';

/**
 * With `--store`, a server and a bridge are killed at any moment, and their clients go on after the next start: with the
 * same sessions, without a gap and without a duplicate. What a killed process was doing ends when it counts as gone.
 */

const OFFICIAL: readonly ClientKind[] = ['sdk 1.x', 'client 2.x legacy'];
const URI = 'feature://fixed';

let world: World;
let directory: string;
beforeEach(() => {
  world = new World();
  directory = mkdtempSync(path.join(tmpdir(), 'everwire-store-'));
});
afterEach(async () => {
  await world.end();
  rmSync(directory, { recursive: true, force: true });
});

const redis = findRedis();
let server: RedisServer | undefined;
beforeAll(async () => {
  if (redis !== undefined) server = await startRedis(redis);
});
afterAll(() => server?.stop());

/** The value of `--store`. */
let place: string;
/** Databases of the Redis server, one for each test. */
let databases = 0;
const PLACES = [
  ['a directory', () => path.join(directory, 'data')],
  ...(redis === undefined ? [] : [['Redis', () => `${server!.url}/${(databases += 1)}`] as const]),
] as const;

const features = (): string[] => [...programs.features, '--store', place];
const bridge = (...target: string[]): string[] => [
  ...[...programs.everwire, 'bridge', '--port', '0', '--max-sessions', '1000'],
  ...['--store', place, ...target],
];
const bridged = (): string[] => bridge('--', process.execPath, ...programs.features, '--stdio');

async function started(args: readonly string[]): Promise<Address> {
  const address = await world.address();
  await address.serve(args);
  return address;
}

/** How often a client opened a session. */
function counted(): { fetch: typeof fetch; opened: () => number } {
  let opened = 0;
  const counting: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    if ((await request.clone().text()).includes('"initialize"')) opened += 1;
    return fetch(request);
  };
  return { fetch: counting, opened: () => opened };
}

const BEHIND = [
  ['a native server', features, 50],
  // Each session has a process of its own.
  ['a bridge', bridged, 10],
] as const;

describe.each(
  PLACES.flatMap(([name, open]) => BEHIND.map(([what, args, many]) => [name, what, args, many, open] as const)),
)('with %s, before %s', (_, __, args, many, open) => {
  beforeEach(() => void (place = open()));

  test.each(OFFICIAL)('the official client goes on in its session (%s)', async (kind) => {
    const address = await started(args());
    const { fetch, opened } = counted();
    const client = await connectOfficial(kind, 'http', { ...at(address), fetch });
    onTestFinished(() => client.close().catch(() => {}));
    await client.methods.subscribeResource({ uri: URI });
    for (let restarts = 0; restarts < 2; restarts += 1) {
      await address.kill();
      // While nothing listens, this client tries to open its stream again only twice. So the tests below read the streams.
      await address.serve(args());
      expect(await client.callTool({ name: 'echo', arguments: { text: 'here' } })).toMatchObject({
        content: [{ type: 'text', text: 'here' }],
      });
    }
    expect(opened()).toBe(1);
  });

  test('our client goes on in its session, and can be asked again', async () => {
    const address = await started(args());
    const { fetch, opened } = counted();
    const onelicit = () => ({ action: 'accept' as const, content: { name: 'Ada' } });
    const client = await connectOurs(address.url, { eras: 'legacy', fetch, onelicit, onerror: () => {} });
    onTestFinished(() => client.close().catch(() => {}));
    const before = await client.callTool('ask', {});
    await address.kill();
    await address.serve(args());
    expect(await client.callTool('ask', {})).toEqual(before);
    expect(opened()).toBe(1);
  });

  test(`${many} sessions, their streams and a question survive`, async () => {
    const address = await started(args());
    const capabilities = { elicitation: {} };
    const sessions = await Promise.all(Array.from({ length: many }, () => RawSession.open(address.url, capabilities)));
    await Promise.all(sessions.map((session) => session.listen()));
    // A bridge has a server for each session.
    await Promise.all((args === bridged ? sessions : sessions.slice(0, 1)).map((session) => session.touch()));
    await Promise.all(sessions.map((session) => session.ask()));
    await address.kill();
    await address.serve(args());
    await Promise.all(sessions.map((session) => session.checkAfter()));
    // It is the same session again after a second restart.
    await address.kill();
    await address.serve(args());
    expect(await sessions[0]!.echo('again')).toBe('again');
  });
});

/** A client that reads every byte itself. */
class RawSession {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  /** Ids of all events of its own stream, in the order in which they came. */
  readonly #ids: string[] = [];
  #own: Events | undefined;
  #asked: { readonly question: any; readonly last: string } | undefined;

  constructor(url: string, id: string) {
    this.#url = url;
    this.#headers = { ...POST_HEADERS, 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' };
  }

  static async open(url: string, capabilities: object): Promise<RawSession> {
    const body = JSON.stringify(initialize('2025-11-25', capabilities));
    const response = await fetch(url, { method: 'POST', headers: POST_HEADERS, body });
    await response.text();
    const session = new RawSession(url, response.headers.get('mcp-session-id')!);
    await session.#post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return session;
  }

  /** Subscribes, and opens its own stream. */
  async listen(): Promise<void> {
    await this.result('logging/setLevel', { level: 'warning' });
    await this.result('resources/subscribe', { uri: URI });
    this.#own = await this.#get();
    this.#ids.push((await this.#own.next())!.id!);
  }

  /** Changes the resource. */
  async touch(): Promise<void> {
    await this.result('tools/call', { name: 'touch', arguments: { uri: URI } });
  }

  /** Reads an update, and leaves a call with an open question. */
  async ask(): Promise<void> {
    await this.#update(this.#own!);
    await this.#own!.cancel();
    const call = new Events(await this.#call('asking', 'tools/call', { name: 'ask', arguments: {} }));
    let last = '';
    for (;;) {
      const event = (await call.next())!;
      if (event.id) last = event.id;
      if (!event.data) continue;
      this.#asked = { question: JSON.parse(event.data), last };
      return;
    }
  }

  async checkAfter(): Promise<void> {
    // The question is refused, and its call has ended, once.
    const { question, last } = this.#asked!;
    const answer = { jsonrpc: '2.0', id: question.id, result: { action: 'accept', content: { name: 'Ada' } } };
    assert.equal((await this.#post(answer)).status, 400);
    for (let times = 0; times < 2; times += 1) {
      const rest = await this.#rest(last);
      assert.deepEqual(
        rest.map(({ data }) => JSON.parse(data!)).map(({ id, error }) => [id, error.code]),
        [['asking', -32_000]],
      );
    }
    assert.equal(await this.echo('here'), 'here');
    // Its own stream goes on where it was: no event comes twice.
    const own = await this.#get(this.#ids.at(-1));
    await this.#update(own);
    assert.equal(new Set(this.#ids).size, this.#ids.length);
    await own.cancel();
  }

  /** The messages of a stream whose process is gone, read as often as the server says. */
  async #rest(last: string): Promise<{ data?: string }[]> {
    for (;;) {
      const events = await (await this.#get(last)).rest();
      const messages = events.filter(({ data }) => data);
      if (messages.length > 0) return messages;
      const { retry } = events.at(-1)!;
      await new Promise((resolve) => setTimeout(resolve, Number(retry)));
    }
  }

  async echo(text: string): Promise<string> {
    const { content } = await this.result('tools/call', { name: 'echo', arguments: { text } });
    return content[0].text;
  }

  /** Reads until an update of the resource. */
  async #update(events: Events): Promise<void> {
    for (;;) {
      const event = (await events.next())!;
      if (event.id) this.#ids.push(event.id);
      if (event.data && JSON.parse(event.data).method === 'notifications/resources/updated') return;
    }
  }

  /** The result of a request. */
  async result(method: string, params: object): Promise<any> {
    const response = await this.#call('call', method, params);
    const message = response.headers.get('content-type')?.startsWith('text/event-stream')
      ? (await new Events(response).rest()).flatMap(({ data }) => (data ? [JSON.parse(data)] : [])).at(-1)
      : await response.json();
    assert.ok('result' in message, JSON.stringify(message));
    return message.result;
  }

  #call(id: string, method: string, params: object): Promise<Response> {
    return this.#post({ jsonrpc: '2.0', id, method, params });
  }

  #post(message: object): Promise<Response> {
    return fetch(this.#url, { method: 'POST', headers: this.#headers, body: JSON.stringify(message) });
  }

  async #get(last?: string): Promise<Events> {
    const headers = { ...this.#headers, ...(last === undefined ? {} : { 'last-event-id': last }) };
    const response = await fetch(this.#url, { headers: { ...headers, accept: 'text/event-stream' } });
    assert.equal(response.status, 200);
    return new Events(response);
  }
}

describe.each(PLACES)('with %s', (_, open) => {
  beforeEach(() => void (place = open()));

  test('a task says that its server was killed, and a finished one keeps its result', async () => {
    const args = [`${root}test/fixtures/stored-tasks.mjs`, '--store', place];
    const address = await started(args);
    const client = await connectOurs(address.url, { eras: 'modern', onerror: () => {} });
    onTestFinished(() => client.close().catch(() => {}));
    const { task: running } = await client.callTool('work', {}, { detach: true });
    const { task: quick } = await client.callTool('quick', {}, { detach: true });
    expect((await quick!.result()).content).toEqual([{ type: 'text', text: 'done' }]);
    await address.kill();
    await address.serve(args);
    const statusMessage = 'The server was stopped before the task was done';
    await expect.poll(() => client.task(running!.id).get()).toMatchObject({ status: 'failed', statusMessage });
    expect((await client.task(quick!.id).result()).content).toEqual([{ type: 'text', text: 'done' }]);
  });

  test('a process that stops in an orderly way leaves its sessions too', async () => {
    const args = [...programs.everwire, 'demo', '--port', '0', '--store', place];
    const address = await started(args);
    const session = await RawSession.open(address.url, {});
    const sum = async (): Promise<unknown> =>
      (await session.result('tools/call', { name: 'add', arguments: { a: 1, b: 2 } })).structuredContent;
    expect(await sum()).toEqual({ result: 3 });
    expect(await address.stop()).toEqual({ code: 0, signal: null });
    await address.serve(args);
    expect(await sum()).toEqual({ result: 3 });
  });
});

test('a second process cannot use the directory', async () => {
  place = path.join(directory, 'data');
  await started(features());
  const second = startNode([...programs.everwire, 'demo', '--port', '0', '--store', path.join(directory, 'data')]);
  expect((await second.exited).code).toBe(1);
  expect(second.stderr.join('\n')).toBe(`everwire: Another process uses the store ${path.join(directory, 'data')}`);
});
