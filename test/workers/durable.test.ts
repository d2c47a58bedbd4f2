import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect, type Client } from 'everwire/client';
import { expect, onTestFinished, test } from 'vitest';
import { connect as connectOfficial } from '../interop/clients.ts';
import { Events, initialize, POST_HEADERS, type SentEvent } from '../support/http.ts';
import { describeInWorkerd, startWorker, type RunningWorker } from './support/workerd.ts';

/** A server in an object, whose clock can be set. Requests say whose they are, as if a Worker in front had checked them. */
const WORKER = `
  import { McpServer } from 'everwire/server';
  import { durableState } from 'everwire/workers';
  export class Library {
    constructor(ctx) {
      this.ctx = ctx;
      this.ahead = 0;
      const now = () => Date.now() + this.ahead;
      this.state = durableState(ctx, { sessions: { now }, events: { now }, tasks: { now } });
      this.server = new McpServer({ name: 'durable', version: '1.0.0', http: { state: this.state, grace: 0 } });
      let calls = 0;
      this.server.tool('count', {}, () => String((calls += 1)));
      this.server.tool('log', {}, async (_, ctx) => {
        for (const level of ['info', 'error']) await ctx.log(level, level);
        return 'logged';
      });
      this.server.tool('wait', {}, async (_, ctx) => {
        await ctx.log('error', 'working');
        await new Promise(() => setInterval(() => {}, 1000));
      });
      this.server.tool('large', {}, async (_, ctx) => {
        await ctx.log('error', 'small');
        await ctx.log('error', 'x'.repeat(2_000_000));
        await ctx.log('error', 'last');
        return 'done';
      });
      this.server.tool('print', { task: true }, async () => {
        await new Promise((resolve) => setTimeout(resolve, 100));
        return 'printed';
      });
      this.server.tool('print_forever', { task: true }, () => new Promise(() => setInterval(() => {}, 1000)));
      this.server.resource('test://counter', { name: 'counter' }, () => 'counted');
      this.server.tool('touch', {}, () => {
        this.server.resourceUpdated('test://counter');
        return 'touched';
      });
    }
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname === '/expire') {
        this.ahead += Number(searchParams.get('ahead'));
        const set = await this.ctx.storage.getAlarm();
        await this.ctx.storage.deleteAlarm();
        await this.alarm();
        const rows = this.ctx.storage.sql.exec('SELECT name FROM everwire').toArray();
        const next = await this.ctx.storage.getAlarm();
        return Response.json({ rows: rows.map(({ name }) => name), alarms: [set !== null, next !== null] });
      }
      const principal = request.headers.get('x-user');
      return this.server.fetch(request, principal ? { authInfo: { principal, scopes: [] } } : undefined);
    }
    alarm() {
      return this.state.expire();
    }
  }
  export default { fetch: (request, { LIBRARY }) => LIBRARY.getByName('library').fetch(request) };
`;
/** The one of docs/runtimes.md. */
const LIBRARY = `export { default, Library } from './examples/runtimes/durable/worker.ts';`;
const bindings = { STATE_KEY: 'a secret of 16 bytes or more' };

/** A worker whose process can be ended and started again, with what its objects have stored. */
class Restartable {
  readonly #contents: string;
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'everwire-durable-'));
  #worker!: RunningWorker;

  private constructor(contents: string) {
    this.#contents = contents;
  }

  static async run(contents: string): Promise<Restartable> {
    const made = new Restartable(contents);
    await made.#start();
    // Clients close before it.
    onTestFinished(async () => {
      await made.#worker.stop();
      rmSync(made.#folder, { recursive: true, force: true });
    });
    return made;
  }

  get url(): string {
    return this.#worker.url;
  }

  async restart(): Promise<void> {
    await this.#worker.stop();
    await this.#start();
  }

  /** Each process has another port. */
  readonly fetch: typeof fetch = (input, init) => {
    const { pathname, search } = new URL(input instanceof Request ? input.url : input);
    return fetch(new URL(pathname + search, this.url), init);
  };

  async #start(): Promise<void> {
    this.#worker = await startWorker(this.#contents, { objects: this.#folder, bindings });
  }
}

/** The client's side of one session of 2025-11-25. */
class Session {
  readonly #worker: Restartable;
  readonly #headers: Record<string, string>;

  private constructor(worker: Restartable, headers: Record<string, string>) {
    this.#worker = worker;
    this.#headers = headers;
  }

  static async open(worker: Restartable, user?: string): Promise<Session> {
    const headers = { ...POST_HEADERS, ...(user === undefined ? {} : { 'x-user': user }) };
    const body = JSON.stringify(initialize());
    const response = await fetch(worker.url, { method: 'POST', headers, body });
    await response.text();
    const id = response.headers.get('mcp-session-id')!;
    const session = new Session(worker, { ...headers, 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' });
    await session.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return session;
  }

  /** The same session, as another user. */
  as(user: string): Session {
    return new Session(this.#worker, { ...this.#headers, 'x-user': user });
  }

  post(body: object): Promise<Response> {
    return fetch(this.#worker.url, { method: 'POST', headers: this.#headers, body: JSON.stringify(body) });
  }

  call(id: number, method: string, params: object): Promise<Response> {
    return this.post({ jsonrpc: '2.0', id, method, params });
  }

  async tool(id: number, name: string): Promise<Events> {
    return new Events(await this.call(id, 'tools/call', { name, arguments: {} }));
  }

  /** The text of a tool's result. */
  async textOf(id: number, name: string): Promise<string> {
    const response = await this.call(id, 'tools/call', { name, arguments: {} });
    const isJson = response.headers.get('content-type') === 'application/json';
    const { result }: any = isJson ? await response.json() : await new Events(response).message();
    return result.content[0].text;
  }

  async events(lastEventId?: string): Promise<Events> {
    const headers = new Headers({ ...this.#headers, accept: 'text/event-stream' });
    if (lastEventId !== undefined) headers.set('last-event-id', lastEventId);
    return new Events(await fetch(this.#worker.url, { headers }));
  }

  async delete(): Promise<number> {
    const response = await fetch(this.#worker.url, { method: 'DELETE', headers: this.#headers });
    await response.text();
    return response.status;
  }
}

const dataOf = ({ data }: SentEvent): any => JSON.parse(data!).params.data;

async function connected(worker: Restartable, options: Parameters<typeof connect>[1] = {}): Promise<Client> {
  // Requests that are on their way fail when the process ends.
  const client = await connect(worker.url, { fetch: worker.fetch, onerror: () => {}, ...options });
  onTestFinished(() => client.close());
  return client;
}

describeInWorkerd('a session in a Durable Object', () => {
  test('goes on after the end of the object, with its log level and its subscriptions', async () => {
    const worker = await Restartable.run(WORKER);
    const session = await Session.open(worker);
    await (await session.call(1, 'logging/setLevel', { level: 'error' })).text();
    await (await session.call(2, 'resources/subscribe', { uri: 'test://counter' })).text();
    expect([await session.textOf(3, 'count'), await session.textOf(4, 'count')]).toEqual(['1', '2']);
    await worker.restart();
    expect(await session.textOf(5, 'count')).toBe('1');
    const logged = await session.tool(6, 'log');
    expect((await logged.message()).params.data).toBe('error');
    expect((await logged.message()).result.content[0].text).toBe('logged');
    const own = await session.events();
    await session.textOf(7, 'touch');
    for (;;) {
      const { method, params } = await own.message();
      if (method !== 'notifications/resources/updated') continue;
      expect(params.uri).toBe('test://counter');
      break;
    }
    await own.cancel();
  });

  test('resumes the streams of an object that has ended: none of their events is lost or comes twice', async () => {
    const worker = await Restartable.run(WORKER);
    const session = await Session.open(worker);
    await (await session.call(1, 'resources/subscribe', { uri: 'test://counter' })).text();
    const own = await session.events();
    const first = (await own.next())!;
    await session.textOf(2, 'touch');
    await own.message();
    await own.cancel();
    await session.textOf(3, 'touch');
    const waiting = await session.tool(4, 'wait');
    await waiting.next();
    const working = (await waiting.next())!;
    expect(dataOf(working)).toBe('working');
    await worker.restart();
    const resumed = await session.events(first.id);
    const updates = [await resumed.next(), await resumed.next()].map((event) => JSON.parse(event!.data!).method);
    expect(updates).toEqual(Array.from({ length: 2 }, () => 'notifications/resources/updated'));
    await resumed.cancel();
    const ended = await (await session.events(working.id)).rest();
    expect(ended.map(({ data }) => JSON.parse(data!))).toEqual([
      expect.objectContaining({ id: 4, error: expect.objectContaining({ code: -32_000 }) }),
    ]);
  });

  test('does not exist for another principal, nor after it was deleted', async () => {
    const worker = await Restartable.run(WORKER);
    const session = await Session.open(worker, 'ann');
    const kept = await Session.open(worker, 'ann');
    expect((await session.as('bob').tool(1, 'count')).response.status).toBe(404);
    await worker.restart();
    expect((await session.as('bob').tool(1, 'count')).response.status).toBe(404);
    expect(await session.as('bob').delete()).toBe(404);
    expect(await session.textOf(1, 'count')).toBe('1');
    expect(await session.delete()).toBe(204);
    expect((await session.tool(2, 'count')).response.status).toBe(404);
    await worker.restart();
    expect((await session.tool(3, 'count')).response.status).toBe(404);
    expect(await kept.textOf(1, 'count')).toBe('1');
  });

  test('expires: an alarm removes all that is stored of it, and is not set again when nothing is left', async () => {
    const worker = await Restartable.run(WORKER);
    const expire = async (ahead: number): Promise<{ rows: string[]; alarms: boolean[] }> => {
      const response = await fetch(new URL(`/expire?ahead=${ahead}`, worker.url));
      return (await response.json()) as { rows: string[]; alarms: boolean[] };
    };
    const session = await Session.open(worker);
    await (await session.call(1, 'logging/setLevel', { level: 'error' })).text();
    await (await session.tool(2, 'log')).rest();
    await worker.restart();
    const { rows, alarms } = await expire(0);
    expect([...new Set(rows)].toSorted()).toEqual(['events', 'places', 'sessions', 'settings', 'streams']);
    expect(alarms).toEqual([true, true]);
    // Events are kept for ten minutes, and sessions for a day.
    const later = await expire(3_600_000);
    expect(later).toEqual({ rows: ['places', 'sessions', 'settings'], alarms: [true, true] });
    expect(await expire(24 * 3_600_000)).toEqual({ rows: [], alarms: [true, false] });
    expect((await session.tool(3, 'count')).response.status).toBe(404);
    await Session.open(worker);
    expect((await expire(0)).alarms).toEqual([true, true]);
  });

  test('gets an event that is too large for the database once, and is told that it is lost after that', async () => {
    const worker = await Restartable.run(WORKER);
    const session = await Session.open(worker);
    const call = await session.tool(1, 'large');
    await call.next();
    const small = (await call.next())!;
    const large = (await call.next())!;
    const last = (await call.next())!;
    expect([dataOf(small), dataOf(large).length, dataOf(last)]).toEqual(['small', 2_000_000, 'last']);
    expect((await call.message()).result.content[0].text).toBe('done');
    expect((await (await session.events(large.id)).rest()).map(({ data }) => JSON.parse(data!).id)).toEqual([
      undefined,
      1,
    ]);
    expect((await session.events(small.id)).response.status).toBe(410);
  });

  test('survives for our client and the official one', async () => {
    const worker = await Restartable.run(WORKER);
    const client = await connected(worker, { eras: 'legacy' });
    const textOf = async (): Promise<unknown> => (await client.callTool('count')).content;
    expect([await textOf(), await textOf()]).toEqual(['1', '2'].map((text) => [{ type: 'text', text }]));
    await worker.restart();
    expect(await textOf()).toEqual([{ type: 'text', text: '1' }]);
    const official = await connectOfficial('client 2.x legacy', 'http', { stdio: [], url: worker.url, sseUrl: '' });
    onTestFinished(() => official.close());
    const counted = await official.callTool({ name: 'count', arguments: {} });
    expect(counted['content']).toEqual([{ type: 'text', text: '2' }]);
  });
});

describeInWorkerd('a task in a Durable Object', () => {
  test('ends while its caller polls it, and fails with the object', async () => {
    const worker = await Restartable.run(WORKER);
    const client = await connected(worker, { eras: 'modern' });
    expect((await client.callTool('print')).content).toEqual([{ type: 'text', text: 'printed' }]);
    const { task } = await client.callTool('print_forever', {}, { detach: true });
    await worker.restart();
    await expect(task!.result()).rejects.toThrow('The server was stopped before the task was done');
  });
});

describeInWorkerd('the Durable Object of docs/runtimes.md', () => {
  test.each(['legacy', 'modern'] as const)('asks a %s client', async (eras) => {
    const worker = await Restartable.run(LIBRARY);
    const client = await connected(worker, {
      eras,
      onelicit: () => ({ action: 'accept', content: { name: 'Ada' } }),
    });
    const reserve = async (): Promise<unknown> => (await client.callTool('reserve', { title: 'Momo' })).content;
    expect(await reserve()).toEqual([{ type: 'text', text: 'Reserved for Ada' }]);
    await worker.restart();
    expect(await reserve()).toEqual([{ type: 'text', text: 'Reserved for Ada' }]);
  });
});
