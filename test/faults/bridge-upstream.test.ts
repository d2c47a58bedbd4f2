import type { ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createBridge, createFleet, type BridgeOptions } from 'everwire/bridge';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { TestExchange } from '../support/exchange.ts';
import { json, scripted, type Asked, type ScriptedServer } from '../support/http-server.ts';
import { ModernClient } from '../support/modern.ts';
import { hello, served } from '../support/wire.ts';

/** What happens to the next tool call, before or after it has run. `answer` sends an ordinary result. */
type Fault = (response: ServerResponse, answer: (text: string) => void) => void;

interface Upstream extends ScriptedServer {
  /** The tools that ran, in order. */
  readonly ran: string[];
  /** The faults of the next calls, in order. */
  readonly before: Fault[];
  readonly after: Fault[];
  /** Forgets all sessions. */
  forget(): void;
  /** Speaks another era from now on, as after a restart. */
  become(era: 'legacy' | 'modern'): void;
}

const info = { name: 'upstream', version: '1' };

/** A server over HTTP that speaks one era and counts the calls that it runs. */
async function upstream(first: 'legacy' | 'modern'): Promise<Upstream> {
  let era = first;
  const [ran, before, after] = [[] as string[], [] as Fault[], [] as Fault[]];
  const sessions = new Set<string>();
  let lastSession = 0;
  const server = await scripted((asked, response) => {
    if (asked.method !== 'POST') return void response.writeHead(asked.method === 'DELETE' ? 204 : 405).end();
    const { id, method, params } = asked.body as JsonObject;
    const fail = (status: number, code: number): void =>
      json(response, { jsonrpc: '2.0', ...(id !== undefined && { id }), error: { code, message: 'no' } }, status);
    const reply = (result: JsonObject, headers = {}): void =>
      json(response, { jsonrpc: '2.0', id, result }, 200, headers);
    if (era === 'modern') {
      if (asked.headers['mcp-protocol-version'] !== '2026-07-28') return fail(400, -32022);
      if (method === 'server/discover') {
        return reply({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, serverInfo: info });
      }
    } else {
      if (method === 'initialize') {
        const session = `session-${(lastSession += 1)}`;
        sessions.add(session);
        const { protocolVersion } = params;
        return reply({ protocolVersion, capabilities: { tools: {} }, serverInfo: info }, { 'mcp-session-id': session });
      }
      const session = asked.headers['mcp-session-id'];
      if (session === undefined) return fail(400, -32600);
      if (!sessions.has(session as string)) return fail(404, -32001);
      if (id === undefined) return void response.writeHead(202).end();
    }
    if (method === 'tools/list') return reply({ tools: [{ name: 'work', inputSchema: { type: 'object' } }] });
    if (method !== 'tools/call') return reply({});
    const early = before.shift();
    const answer = (text: string): void => reply({ content: [{ type: 'text', text }] });
    if (early) return early(response, answer);
    ran.push(params['name']);
    const late = after.shift();
    if (late) return late(response, answer);
    answer(`run ${ran.length}`);
  });
  const become = (next: typeof era): void => {
    era = next;
    sessions.clear();
  };
  return { ...server, ran, before, after, forget: () => sessions.clear(), become };
}

const reset: Fault = (response) => response.socket!.resetAndDestroy();
const status =
  (code: number, headers: Record<string, string> = {}): Fault =>
  (response) =>
    void response.writeHead(code, headers).end();

/** Calls the tool through a bridge, as a client of one era. The text of the result, or the error. */
type Calls = () => Promise<string | JsonObject>;

async function through(
  client: 'session' | 'modern',
  { url }: ScriptedServer,
  options: Partial<BridgeOptions> = {},
): Promise<Calls> {
  const bridge = createBridge({ target: url, ...options });
  onTestFinished(() => bridge.close());
  const outcome = (response: JsonObject): string | JsonObject =>
    response['error'] ?? response['result'].content[0].text;
  if (client === 'modern') {
    const modern = new ModernClient(bridge.service, { sealState: false });
    return async () => outcome((await modern.request('tools/call', { name: 'work', arguments: {} })).response);
  }
  const { client: peer } = await served(bridge.service);
  const waiting = new Map<unknown, (response: JsonObject) => void>();
  peer.transport.onmessage = (message) => waiting.get((message as JsonObject)['id'])?.(message as JsonObject);
  const request = async (id: number, method: string, params: JsonObject): Promise<JsonObject> => {
    const answered = new Promise<JsonObject>((resolve) => waiting.set(id, resolve));
    await peer.send({ id, method, params });
    return answered;
  };
  await request(0, 'initialize', hello());
  await peer.send({ method: 'notifications/initialized' });
  let id = 0;
  return async () => outcome(await request((id += 1), 'tools/call', { name: 'work', arguments: {} }));
}

const sessionsOf = (asked: readonly Asked[]): number =>
  asked.filter(({ body }) => body?.method === 'initialize').length;

const cells = (['session', 'modern'] as const).flatMap((client) =>
  (['legacy', 'modern'] as const).map((server) => [client, server] as const),
);

describe.each(cells)('a bridge of a %s client to a %s server over HTTP', (client, era) => {
  test('repeats calls that the server did not run, and none that may have run', async () => {
    const server = await upstream(era);
    const call = await through(client, server);
    expect(await call()).toBe('run 1');

    // Nobody knows whether it ran.
    server.after.push(reset);
    expect(await call()).toMatchObject({ code: -32000 });
    expect(server.ran).toHaveLength(2);
    expect(await call()).toBe('run 3');

    server.after.push(status(503));
    expect(await call()).toMatchObject({ code: expect.any(Number), message: expect.stringContaining('503') });
    expect(server.ran).toHaveLength(4);
    expect(await call()).toBe('run 5');

    // A server that sends Retry-After has not run the call.
    server.before.push(status(503, { 'retry-after': '0' }));
    expect(await call()).toBe('run 6');
    expect(server.ran).toHaveLength(6);
  });

  test('continues with the next call after various broken connections, and runs no call twice', async () => {
    const server = await upstream(era);
    const call = await through(client, server);
    let failed = 0;
    for (let round = 0; round < 20; round += 1) {
      const fault = [reset, status(500), status(502), status(504)][round % 4]!;
      (round % 8 < 4 ? server.before : server.after).push(fault);
      const ran = server.ran.length;
      const answer = await call();
      if (typeof answer !== 'string') failed += 1;
      expect(server.ran.length - ran).toBeLessThan(2);
      server.before.length = server.after.length = 0;
      expect(await call()).toMatch(/^run \d+$/);
    }
    expect(failed).toBeGreaterThan(9);
  });
});

describe.each(['session', 'modern'] as const)('a server that changes its era, for a %s client', (client) => {
  test.each([
    ['legacy', 'modern'],
    ['modern', 'legacy'],
  ] as const)(
    'from %s to %s: one call fails, says so and does not run, and the next call is answered',
    async (...eras) => {
      const [before, after] = eras;
      const server = await upstream(before);
      const errors: string[] = [];
      const call = await through(client, server, { onerror: ({ message }) => void errors.push(message) });
      expect(await call()).toBe('run 1');
      server.become(after);
      expect(await call()).toMatchObject({
        code: -32000,
        message: expect.stringMatching(
          /^tools\/call failed: the server now seems to speak another revision .* did not run/,
        ),
      });
      expect(await call()).toBe('run 2');
      expect(server.ran).toHaveLength(2);
      const speaks = after === 'modern' ? 'it now speaks 2026-07-28' : 'it now speaks 2025-11-25';
      expect(errors).toContain(`The connection to the server was lost: ${speaks}; the next request connects again`);
    },
  );

  test('fails no other call if only a proxy refuses a request', async () => {
    const server = await upstream('modern');
    const call = await through(client, server);
    expect(await call()).toBe('run 1');
    const held = new Promise<(text: string) => void>((resolve) => {
      server.before.push((_, answer) => resolve(answer));
    });
    const slow = call();
    const answer = await held;
    server.before.push(status(400));
    expect(await call()).toMatchObject({ code: -32000, message: expect.stringContaining('only if it may run twice') });
    expect(await call()).toBe('run 2');
    answer('slow');
    expect(await slow).toBe('slow');
  });
});

describe.each(['session', 'modern'] as const)('a lost session of a server, for a %s client', (client) => {
  test('is opened again for the next call, which runs once', async () => {
    const server = await upstream('legacy');
    const call = await through(client, server);
    expect(await call()).toBe('run 1');
    const before = sessionsOf(server.asked);
    for (let round = 2; round < 6; round += 1) {
      server.forget();
      expect(await call()).toBe(`run ${round}`);
    }
    expect(sessionsOf(server.asked) - before).toBe(4);
    expect(server.ran).toHaveLength(5);
  });

  test('is opened again once for many simultaneous calls', async () => {
    const server = await upstream('legacy');
    const call = await through(client, server);
    await call();
    const before = sessionsOf(server.asked);
    server.forget();
    const answers = await Promise.all(Array.from({ length: 20 }, call));
    expect(new Set(answers)).toEqual(new Set(Array.from({ length: 20 }, (_, index) => `run ${index + 2}`)));
    expect(server.ran).toHaveLength(21);
    // The number of connections. Clients without a session may have several.
    expect(sessionsOf(server.asked) - before).toBeLessThanOrEqual(client === 'session' ? 1 : 4);
  });
});

test('a server of a fleet is omitted from a list that has more levels than the stack can hold, with a warning', async () => {
  const sound = await upstream('modern');
  const deep = await scripted((asked, response) => {
    const { id, method } = asked.body as JsonObject;
    if (method === 'server/discover') {
      const result = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, serverInfo: info };
      return json(response, { jsonrpc: '2.0', id, result });
    }
    const schema = `${'{"items":'.repeat(90_000)}{}${'}'.repeat(90_000)}`;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":[{"name":"a","inputSchema":${schema}}]}}`,
    );
  });
  const warnings: string[] = [];
  const members = [deep, sound].map(({ url }, index) => {
    const bridge = createBridge({ target: url });
    onTestFinished(() => bridge.close());
    return { name: `server-${index}`, service: bridge.service };
  });
  const fleet = createFleet({ members, onwarning: (warning) => void warnings.push(warning) });
  const list = await fleet.service(new TestExchange('tools/list', {}, { caller: { revision: '2026-07-28' } }));
  expect(list['tools']).toMatchObject([{ name: 'server-1__work' }]);
  expect(warnings).toEqual([expect.stringContaining('nested deeper than 1000 values')]);
});
