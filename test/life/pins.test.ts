import { expect, onTestFinished, test } from 'vitest';
import { connect as connectOfficial, type OfficialClient } from '../interop/clients.ts';
import { programs, type RunningServer } from '../support/process.ts';
import { frontOf, type Front, type Passing } from './front.ts';
import { describeWithRedis, type Shared } from './with-redis.ts';
import { at, bridgeTo } from './world.ts';

/** Several bridges with one Redis, behind a balancer that never sticks: each client has one child over all of them. */

const PATIENT = { timeout: 30_000 };
let shared: Shared;

type Choose = (passing: Passing) => number | undefined;

interface Started {
  readonly servers: readonly RunningServer[];
  readonly front: Front;
  readonly connect: (choose?: Choose) => Promise<OfficialClient>;
}

async function start(count = 3): Promise<Started> {
  const servers = await shared.serve(count, bridgeTo(shared.world.stateful, '--port', '0'));
  let choose: Choose | undefined;
  const front = await frontOf(servers, (passing) => choose?.(passing));
  const connect = async (chosen?: Choose): Promise<OfficialClient> => {
    choose = chosen;
    const client = await connectOfficial('sdk 1.x', 'http', at(front));
    onTestFinished(() => client.close().catch(() => {}));
    return client;
  };
  return { servers, front, connect };
}

const textOf = (result: Record<string, any>): string => result['content'][0].text;
const countOf = async (client: OfficialClient): Promise<{ calls: number; pid: number }> =>
  JSON.parse(textOf(await client.callTool({ name: 'count' })));

/** `initialize` and the stream go to the first process, calls and answers to the others. */
function callsElsewhere(): Choose {
  let turn = 0;
  return ({ method, body }) =>
    method === 'GET' || body.includes('"initialize"') || body.includes('notifications/initialized')
      ? 0
      : 1 + ((turn += 1) % 2);
}

describeWithRedis('three bridges with one Redis', (given) => {
  shared = given;

  test('a client has one child, which ends with its session, and shares it with nobody', async () => {
    const { front, connect } = await start();
    // The bridges have looked what the server is.
    await expect.poll(() => shared.world.alive, PATIENT).toEqual([]);
    const [ada, grace] = [await connect(), await connect()];
    const [ofAda, ofGrace] = [new Set<number>(), new Set<number>()];
    for (let n = 1; n <= 9; n += 1) {
      const { calls, pid } = await countOf(ada);
      expect(calls).toBe(n);
      ofAda.add(pid);
      ofGrace.add((await countOf(grace)).pid);
    }
    await ada.callTool({ name: 'remember', arguments: { value: 'of Ada' } });
    for (let n = 0; n < 3; n += 1) expect(textOf(await ada.callTool({ name: 'recall' }))).toBe('of Ada');
    expect(textOf(await grace.callTool({ name: 'recall' }))).toBe('');
    expect([ofAda.size, ofGrace.size]).toEqual([1, 1]);
    expect(new Set([...ofAda, ...ofGrace]).size).toBe(2);
    expect(new Set(shared.world.alive)).toEqual(new Set([...ofAda, ...ofGrace]));
    for (const count of front.counts) expect(count).toBeGreaterThan(3);
    await end(ada, front);
    await expect.poll(() => shared.world.alive, PATIENT).toEqual([...ofGrace]);
    expect((await countOf(grace)).calls).toBe(10);
  });

  test('calls at the same time get their own results', async () => {
    const { connect } = await start();
    const client = await connect();
    const counts = await Promise.all(Array.from({ length: 60 }, () => countOf(client)));
    expect(new Set(counts.map(({ calls }) => calls)).size).toBe(60);
    expect(new Set(counts.map(({ pid }) => pid)).size).toBe(1);
  });

  test('questions, progress and cancellations reach the child and the client through other processes', async () => {
    const { connect } = await start();
    const client = await connect(callsElsewhere());
    for (let n = 0; n < 4; n += 1) {
      client.answers.elicitation = () => ({ action: 'accept', content: { name: `Ada ${n}` } });
      expect(textOf(await client.callTool({ name: 'greet', arguments: { who: 'she' } }))).toBe(`she is Ada ${n}`);
      expect(textOf(await client.callTool({ name: 'sample' }))).toContain('sampled');
    }
    const steps: number[] = [];
    const onprogress = ({ progress }: { progress: number }): void => void steps.push(progress);
    await client.callTool({ name: 'steps', arguments: { to: 50 } }, { onprogress });
    expect(steps).toEqual(steps.toSorted((a, b) => a - b));
    expect(steps.at(-1)).toBe(50);
    const abort = new AbortController();
    const call = client.callTool({ name: 'wait' }, { signal: abort.signal, onprogress: () => abort.abort() });
    await expect(call).rejects.toThrow(/abort/i);
    await expect.poll(async () => textOf(await client.callTool({ name: 'cancellations' })), PATIENT).toBe('1');
    await client.callTool({ name: 'report', arguments: { data: 'logged' } });
    await client.notice('notifications/message', ({ data }) => data === 'logged', 0, 30_000);
    await expect(client.callTool({ name: 'no such tool' })).resolves.toMatchObject({ isError: true });
    await expect(client.request('no/such')).rejects.toMatchObject({ code: -32601 });
    expect(client.errors).toEqual([]);
  });

  test('changes are heard at a process that does not have the child', async () => {
    const { connect } = await start();
    // The child is at the first process, and the client reads its stream at the second one.
    const client = await connect(({ method, body }) =>
      body.includes('"initialize"')
        ? 0
        : method === 'GET' || body.includes('notifications/initialized')
          ? 1
          : undefined,
    );
    await client.subscribe('stateful://value');
    await client.callTool({ name: 'remember', arguments: { value: 'new' } });
    await client.notice('notifications/resources/updated', ({ uri }) => uri === 'stateful://value', 0, 30_000);
    await client.callTool({ name: 'learn', arguments: { name: 'learnt' } });
    await client.notice('notifications/tools/list_changed', () => true, 0, 30_000);
    expect(textOf(await client.callTool({ name: 'learnt' }))).toBe('learnt');
    expect(shared.world.alive).toHaveLength(1);
  });

  test('a change is told once, though all processes have the session', async () => {
    const { connect } = await start();
    const client = await connect();
    await client.subscribe('stateful://value');
    for (let n = 0; n < 6; n += 1) await countOf(client);
    const from = client.notices.length;
    for (let n = 0; n < 5; n += 1) await client.callTool({ name: 'remember', arguments: { value: `value ${n}` } });
    await client.callTool({ name: 'learn', arguments: { name: 'learnt' } });
    await client.notice('notifications/tools/list_changed', () => true, from, 30_000);
    await client.callTool({ name: 'learn', arguments: { name: 'learnt later' } });
    const changes = (): number => client.notices.slice(from).filter(({ method }) => method.endsWith('changed')).length;
    await expect.poll(changes, PATIENT).toBeGreaterThan(1);
    // What other processes told, too, would have come before.
    await client.callTool({ name: 'report', arguments: { data: 'the end' } });
    await client.notice('notifications/message', ({ data }) => data === 'the end', from, 30_000);
    const updates = client.notices.slice(from).filter(({ method }) => method.endsWith('resources/updated'));
    expect([updates.length, changes()]).toEqual([5, 2]);
  });

  test('if the process of the child is killed, calls end with an error, and later ones have one new child', async () => {
    const { servers, connect } = await start();
    // The stream of the client and its calls are at processes that go on.
    const client = await connect((passing) => {
      const isFirst = passing.body.includes('"initialize"');
      return isFirst ? 0 : callsAtOthers(passing);
    });
    await client.subscribe('stateful://value');
    const { pid } = await countOf(client);
    let ends = 0;
    let begun!: () => void;
    const hasBegun = new Promise<void>((resolve) => (begun = resolve));
    const never = client.callTool({ name: 'never' }, { onprogress: begun, timeout: 60_000 });
    const ended = never.then(
      () => (ends += 1),
      (error: unknown) => {
        ends += 1;
        return error;
      },
    );
    await hasBegun;
    const heard = client.notices.length;
    servers[0]!.child.kill('SIGKILL');
    expect(await ended).toMatchObject({ code: -32000, message: expect.stringContaining('may have been done in part') });
    const after = new Set<number>();
    for (let n = 1; n <= 4; n += 1) {
      const { calls, pid: next } = await countOf(client);
      expect(calls).toBe(n);
      after.add(next);
    }
    expect(ends).toBe(1);
    expect(after.size).toBe(1);
    expect(after.has(pid)).toBe(false);
    await expect.poll(() => shared.world.alive, PATIENT).toEqual([...after]);
    await client.notice('notifications/resources/updated', () => true, heard, 30_000);
    await client.notice('notifications/tools/list_changed', () => true, heard, 30_000);
    const from = client.notices.length;
    await client.callTool({ name: 'remember', arguments: { value: 'again' } });
    await client.notice('notifications/resources/updated', () => true, from, 30_000);
  });

  test('a process that ends orderly lets calls finish, and others have the client then', async () => {
    const { servers, connect } = await start();
    const client = await connect((passing) => (passing.body.includes('"initialize"') ? 0 : callsAtOthers(passing)));
    const { pid } = await countOf(client);
    const gate = shared.world.gate();
    let begun!: () => void;
    const hasBegun = new Promise<void>((resolve) => (begun = resolve));
    const call = client.callTool({ name: 'count', arguments: { gate: gate.name } }, { onprogress: begun });
    await hasBegun;
    servers[0]!.child.kill('SIGTERM');
    await expect.poll(async () => (await fetch(new URL('/readyz', servers[0]!.url))).status, PATIENT).toBe(503);
    gate.open();
    expect(JSON.parse(textOf(await call))).toEqual({ calls: 2, pid });
    await servers[0]!.exited;
    const { calls, pid: next } = await countOf(client);
    expect(calls).toBe(1);
    expect(next).not.toBe(pid);
    await expect.poll(() => shared.world.alive, PATIENT).toEqual([next]);
  });

  test('a process that was stopped for long has lost its clients, and ends their children when it goes on', async () => {
    const { servers, connect } = await start();
    const client = await connect((passing) => (passing.body.includes('"initialize"') ? 0 : callsAtOthers(passing)));
    const { pid } = await countOf(client);
    servers[0]!.child.kill('SIGSTOP');
    const { calls, pid: next } = await countOf(client).catch(() => countOf(client));
    expect(calls).toBe(1);
    expect(next).not.toBe(pid);
    servers[0]!.child.kill('SIGCONT');
    await expect.poll(() => shared.world.alive, PATIENT).toEqual([next]);
    expect(await countOf(client)).toEqual({ calls: 2, pid: next });
  });

  test('without Redis, calls for a child at another process certainly do not run, and others go on', async () => {
    const { servers, front, connect } = await start(2);
    let server = 0;
    const client = await connect(({ method }) => (method === 'GET' ? 0 : server));
    const { pid } = await countOf(client);
    server = 1;
    expect(await countOf(client)).toEqual({ calls: 2, pid });
    await shared.redis.kill();
    onTestFinished(() => shared.redis.restart());
    for (const { url } of servers)
      await expect.poll(async () => (await fetch(new URL('/readyz', url))).text(), PATIENT).toContain('unreachable');
    const refused = { code: 503, message: expect.stringContaining('"notExecuted":true') };
    await expect(countOf(client)).rejects.toMatchObject(refused);
    const { headers } = front.passed.find(({ body }) => body.includes('"count"'))!;
    const { 'mcp-session-id': session, 'mcp-protocol-version': version } = headers as Record<string, string>;
    const call = { jsonrpc: '2.0', id: 'raw', method: 'tools/call', params: { name: 'count', arguments: {} } };
    const response = await fetch(front.url, {
      method: 'POST',
      headers: {
        ...{ 'mcp-session-id': session!, 'mcp-protocol-version': version! },
        ...{ accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
      },
      body: JSON.stringify(call),
    });
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await response.json()).toMatchObject({
      ...{ jsonrpc: '2.0', id: 'raw' },
      error: { code: -32000, data: { notExecuted: true } },
    });
    server = 0;
    expect(await countOf(client)).toEqual({ calls: 3, pid });
    await shared.redis.restart();
    // A process that is not back three seconds after the other one loses its child. That is not the subject here.
    const readyz = new URL('/readyz', servers[0]!.url);
    await expect.poll(async () => (await fetch(readyz)).text(), PATIENT).not.toContain('unreachable');
    expect(await countOf(client)).toEqual({ calls: 4, pid });
    server = 1;
    await expect.poll(() => countOf(client).catch(() => undefined), PATIENT).toMatchObject({ pid });
    expect(front.counts.every((count) => count > 1)).toBe(true);
    // The other process may have begun a child for its subscription before it knew that the first one is back. It ends that one.
    await expect.poll(() => shared.world.alive, PATIENT).toEqual([pid]);
  });

  test('clients without a session have one child, too, as long as they are the same', async () => {
    const { front } = await start();
    const connect = async (name: string): Promise<OfficialClient> => {
      const client = await connectOfficial('client 2.x modern', 'http', at(front), { info: { name, version: '1' } });
      onTestFinished(() => client.close().catch(() => {}));
      return client;
    };
    const [ada, grace] = [await connect('ada'), await connect('grace')];
    const [ofAda, ofGrace] = [await countOf(ada), await countOf(grace)];
    expect(ofAda.pid).not.toBe(ofGrace.pid);
    for (let n = 2; n <= 7; n += 1) expect(await countOf(ada)).toEqual({ calls: n, pid: ofAda.pid });
    expect(await countOf(grace)).toEqual({ calls: 2, pid: ofGrace.pid });
  });

  test('a command without a handshake keeps what it needs for the next request, so it has one child, too', async () => {
    const child = [...programs.features, '--stdio', '--tasks'];
    const front = await frontOf(await shared.serve(3, bridgeTo(child, '--port', '0')));
    const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} }, elicitation: { form: {} } };
    const client = await connectOfficial('client 2.x modern', 'http', at(front));
    onTestFinished(() => client.close().catch(() => {}));
    for (let n = 0; n < 4; n += 1) {
      client.answers.elicitation = () => ({ action: 'accept', content: { name: `${n}` } });
      const answer = JSON.parse(textOf(await client.callTool({ name: 'ask', arguments: {} })));
      expect(answer).toMatchObject({ action: 'accept', content: { name: `${n}` } });
    }
    const task = await raw(front.url, 'tools/call', { name: 'errand', arguments: {} }, capabilities);
    for (let n = 0; n < 4; n += 1)
      expect(await raw(front.url, 'tasks/get', { taskId: task['taskId'] }, capabilities)).toMatchObject({
        status: expect.stringMatching(/^(?:working|input_required)$/),
      });
  });

  test('a server without a handshake at a URL needs no single connection', async () => {
    const upstream = await shared.world.serve(programs.features);
    const bridge = [...programs.everwire, 'bridge', '--port', '0', '--metrics', upstream.url];
    const servers = await shared.serve(3, bridge);
    const client = await connectOfficial('client 2.x modern', 'http', at(await frontOf(servers)));
    onTestFinished(() => client.close().catch(() => {}));
    for (let n = 0; n < 9; n += 1)
      expect(textOf(await client.callTool({ name: 'echo', arguments: { text: `${n}` } }))).toBe(`${n}`);
    for (const { url } of servers) {
      const metrics = await (await fetch(new URL('/metrics', url))).text();
      expect(metrics).toMatch(/everwire_forwarded_requests_total\{[^}]*\} 0\n/);
    }
  });
});

/** Sends a request of 2026-07-28, and returns its result. */
async function raw(
  url: string,
  method: string,
  params: Record<string, any>,
  capabilities: unknown,
): Promise<Record<string, any>> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    'mcp-name': params['name'] ?? params['taskId'],
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } });
  const text = await (await fetch(url, { method: 'POST', headers, body })).text();
  const [answer] = /\{.*\}/.exec(text)!;
  return JSON.parse(answer).result;
}

/** Everything goes to the second and the third process in turn. The stream stays at the second one. */
let turns = 0;
const callsAtOthers: Choose = ({ method }) => (method === 'GET' ? 1 : 1 + ((turns += 1) % 2));

/** Ends a session as a client does that says goodbye. The official one only disconnects. */
async function end(client: OfficialClient, { url, passed }: Front): Promise<void> {
  const session = passed.find(({ headers }) => headers['mcp-session-id'])!.headers['mcp-session-id'] as string;
  await client.close();
  const response = await fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': session } });
  await response.text();
}
