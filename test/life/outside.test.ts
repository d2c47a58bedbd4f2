import { expect, onTestFinished, test } from 'vitest';
import { connect as connectOfficial, type ClientKind, type OfficialClient } from '../interop/clients.ts';
import { programs, type RunningServer } from '../support/process.ts';
import { Events, POST_HEADERS as POST } from '../support/http.ts';
import { connect as connectEither, type Kind } from './clients.ts';
import { frontOf, type Front, type Passing } from './front.ts';
import { describeWithRedis, type Shared } from './with-redis.ts';
import { at, bridgeTo } from './world.ts';

/** What reaches a client outside of its calls, if several processes serve it. */

const HANDSHAKE: readonly ClientKind[] = ['sdk 1.x', 'client 2.x legacy'];
let shared: Shared;

/** The session is opened at the first server, which has its own stream. Calls go to the second one. */
const callsSecond = ({ body }: Passing): number => (body.includes('"tools/call"') ? 1 : 0);

interface Started {
  readonly servers: readonly RunningServer[];
  readonly front: Front;
  readonly client: OfficialClient;
}

async function start(
  kind: ClientKind,
  choose: (passing: Passing) => number | undefined,
  transport: 'http' | 'sse' = 'http',
): Promise<Started> {
  const servers = await shared.serve(2);
  const front = await frontOf(servers, choose);
  const client = await connectOfficial(kind, transport, at(front));
  onTestFinished(() => client.close().catch(() => {}));
  return { servers, front, client };
}

/** A client that reads its own stream where the test says, and resumes it by itself. */
class RawSession {
  readonly #servers: readonly RunningServer[];
  readonly #headers: Record<string, string>;

  private constructor(servers: readonly RunningServer[], id: string) {
    this.#servers = servers;
    this.#headers = { ...POST, 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' };
  }

  static async open(servers: readonly RunningServer[]): Promise<RawSession> {
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'raw', version: '1' },
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 'open', method: 'initialize', params });
    const response = await fetch(servers[0]!.url, { method: 'POST', headers: POST, body });
    await response.text();
    const session = new RawSession(servers, response.headers.get('mcp-session-id')!);
    await session.#post(0, { jsonrpc: '2.0', method: 'notifications/initialized' });
    return session;
  }

  /** @param n the server, modulo their number. */
  async request(n: number, method: string, params: object): Promise<void> {
    const text = await this.#post(n, { jsonrpc: '2.0', id: `${method} ${n}`, method, params });
    if (!text.includes('"result"')) throw new Error(`${method} was refused: ${text}`);
  }

  touch(n: number, uri: string): Promise<void> {
    return this.request(n, 'tools/call', { name: 'touch', arguments: { uri } });
  }

  async stream(n: number, last: string | undefined): Promise<RawStream> {
    const headers = { ...this.#headers, accept: 'text/event-stream', ...(last ? { 'last-event-id': last } : {}) };
    const response = await fetch(this.#url(n), { headers });
    if (response.status !== 200) throw new Error(`the stream was refused: ${response.status}`);
    return new RawStream(response);
  }

  async #post(n: number, body: object): Promise<string> {
    const response = await fetch(this.#url(n), { method: 'POST', headers: this.#headers, body: JSON.stringify(body) });
    return response.text();
  }

  #url(n: number): string {
    return this.#servers[n % this.#servers.length]!.url;
  }
}

class RawStream {
  readonly #events: Events;
  readonly cancel: () => Promise<void>;

  constructor(response: Response) {
    this.#events = new Events(response);
    this.cancel = () => this.#events.cancel();
  }

  /** Reads the resources that have changed, by the ids of events, until this one has. Returns the id of its event. */
  async until(uri: string, got: Map<string, string>): Promise<{ last: string }> {
    for (;;) {
      const event = await this.#events.next();
      if (!event) throw new Error(`the stream ended before ${uri} came`);
      if (!event.data) continue;
      const changed: string = JSON.parse(event.data).params.uri;
      if (got.has(event.id!)) throw new Error(`event ${event.id} came twice`);
      got.set(event.id!, changed);
      if (changed === uri) return { last: event.id! };
    }
  }
}

describeWithRedis('two servers', (given) => {
  shared = given;

  test.each<ClientKind>([...HANDSHAKE, 'client 2.x modern'])(
    'say at one what has changed at the other (%s)',
    async (kind) => {
      const { client } = await start(kind, callsSecond);
      const stop = await client.followLists();
      await client.subscribe('feature://fixed');
      await client.callTool({ name: 'touch', arguments: { uri: 'feature://fixed' } });
      await client.notice('notifications/resources/updated', ({ uri }) => uri === 'feature://fixed');
      await client.callTool({ name: 'grow', arguments: { name: 'grown' } });
      await client.notice('notifications/tools/list_changed');
      await stop();
      expect(client.errors).toEqual([]);
    },
  );

  test.each(HANDSHAKE)('take a subscription that reaches the other one (%s)', async (kind) => {
    const { client } = await start(kind, ({ body }) =>
      /"(?:tools\/call|resources\/(?:un)?subscribe)"/.test(body) ? 1 : 0,
    );
    const touch = (uri: string) => client.callTool({ name: 'touch', arguments: { uri } });
    const updated = (wanted: string) => client.notice('notifications/resources/updated', ({ uri }) => uri === wanted);
    const unsubscribe = await client.subscribe('feature://fixed');
    await client.subscribe('feature://bytes');
    await touch('feature://fixed');
    await updated('feature://fixed');
    await unsubscribe();
    const before = client.notices.length;
    await touch('feature://fixed');
    await touch('feature://bytes');
    await updated('feature://bytes');
    expect(client.notices.slice(before).map(({ params }) => params?.['uri'])).toEqual(['feature://bytes']);
    expect(client.errors).toEqual([]);
  });

  test.each(HANDSHAKE)('go on with the stream of one that was killed (%s)', async (kind) => {
    const servers = await shared.serve(2);
    const front = await frontOf(servers, callsSecond);
    const client = await connectOfficial(kind, 'http', { ...at(front), attempts: 30 });
    onTestFinished(() => client.close().catch(() => {}));
    await client.subscribe('feature://fixed');
    // The client names an event only if it has got one.
    await client.callTool({ name: 'grow', arguments: { name: 'grown' } });
    await client.notice('notifications/tools/list_changed');
    const before = client.notices.length;
    servers[0]!.child.kill('SIGKILL');
    await servers[0]!.stop();
    for (const what of ['tools', 'prompts', 'resources'])
      await client.notice(`notifications/${what}/list_changed`, undefined, before, 30_000);
    await client.notice('notifications/resources/updated', undefined, before, 30_000);
    const after = client.notices.length;
    await client.callTool({ name: 'touch', arguments: { uri: 'feature://fixed' } });
    await client.notice('notifications/resources/updated', undefined, after);
    expect(client.notices.length).toBe(after + 1);
  });

  test.each<Kind>(['official 1.x', 'ours, handshake'])('say all that changes, wherever it does (%s)', async (kind) => {
    const servers = await shared.serve(3);
    const front = await frontOf(servers);
    const client = await connectEither(kind, 'http', at(front));
    const changes = await client.subscribe('feature://fixed');
    // Until then, the stream moves, and a change may come twice.
    await expect.poll(() => front.passed.find(({ method }) => method === 'GET')?.answered).toBe(true);
    for (let n = 1; n <= 12; n += 1) {
      await client.call('touch', { uri: 'feature://fixed' });
      await expect.poll(changes).toBe(n);
    }
    for (const count of front.counts) expect(count).toBeGreaterThan(3);
    await client.close();
  });

  test('lose and repeat nothing while the stream moves between them', async () => {
    const servers = await shared.serve(3);
    const session = await RawSession.open(servers);
    const rounds = Array.from({ length: 20 }, (_, n) => n);
    const uris = rounds.flatMap((n) => [`feature://item/read-${n}`, `feature://item/away-${n}`]);
    for (const [n, uri] of [...uris, 'feature://item/end'].entries())
      await session.request(n, 'resources/subscribe', { uri });
    const got = new Map<string, string>();
    let last: string | undefined;
    const readUntil = async (n: number, uri: string): Promise<void> => {
      const stream = await session.stream(n + 1, last);
      await session.touch(n, uri);
      ({ last } = await stream.until(uri, got));
      await stream.cancel();
    };
    for (const n of rounds) {
      await readUntil(n, `feature://item/read-${n}`);
      // While the client does not read.
      await session.touch(n + 2, `feature://item/away-${n}`);
    }
    await readUntil(0, 'feature://item/end');
    // A change may come once more, as another event, if the stream moves while it is told.
    expect([...new Set(got.values())]).toEqual([...uris, 'feature://item/end']);
  });

  test('are bridges, and the server of one of them has changed', async () => {
    const bridges = await shared.serve(2, bridgeTo([...programs.features, '--stdio'], '--port', '0', '--metrics'));
    const front = await frontOf(bridges, callsSecond);
    const client = await connectOfficial('sdk 1.x', 'http', at(front));
    onTestFinished(() => client.close().catch(() => {}));
    await client.callTool({ name: 'grow', arguments: { name: 'grown' } });
    await client.notice('notifications/tools/list_changed');
    expect(client.errors).toEqual([]);
    const metrics = await (await fetch(new URL('/metrics', bridges[1]!.url))).text();
    expect(metrics).toMatch(/^everwire_sessions_revived_total 1$/m);
    expect(metrics).toMatch(/^everwire_own_streams_taken_over_total 0$/m);
    expect(metrics).toMatch(/^everwire_bus_delay_seconds 0\.\d+$/m);
  });

  test('say over HTTP+SSE what has changed at the other one', async () => {
    const servers = await shared.serve(2);
    const client = await connectOfficial('sdk 1.x', 'sse', at(servers[0]!));
    onTestFinished(() => client.close().catch(() => {}));
    await client.subscribe('feature://fixed');
    const other = await connectOfficial('sdk 1.x', 'http', at(servers[1]!));
    onTestFinished(() => other.close().catch(() => {}));
    await other.callTool({ name: 'touch', arguments: { uri: 'feature://fixed' } });
    await client.notice('notifications/resources/updated', ({ uri }) => uri === 'feature://fixed');
    await other.callTool({ name: 'grow', arguments: { name: 'grown' } });
    await client.notice('notifications/tools/list_changed');
  });
});
