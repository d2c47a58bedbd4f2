import { expect, onTestFinished, test } from 'vitest';
import { connect as connectOfficial, type ClientKind } from '../interop/clients.ts';
import { Events, initialize, POST_HEADERS } from '../support/http.ts';
import type { RunningServer } from '../support/process.ts';
import { frontOf } from './front.ts';
import { describeWithRedis } from './with-redis.ts';
import { at } from './world.ts';

/** Clients that read the stream of a call at another process than the one that runs the call. */

const OFFICIAL: readonly ClientKind[] = ['sdk 1.x', 'client 2.x legacy'];

interface Call {
  readonly session: Record<string, string>;
  /** The last event that the client has got. */
  readonly last: string;
}

/** Calls a tool at a server, and leaves when it has got the first progress. */
async function begin({ url }: RunningServer, name: string, args: object): Promise<Call> {
  const post = (body: object, headers: object = {}): Promise<Response> =>
    fetch(url, { method: 'POST', headers: { ...POST_HEADERS, ...headers }, body: JSON.stringify(body) });
  const opened = await post(initialize());
  await opened.text();
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id')!, 'mcp-protocol-version': '2025-11-25' };
  await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, session);
  const params = { name, arguments: args, _meta: { progressToken: 'p' } };
  const events = new Events(await post({ jsonrpc: '2.0', id: 'call', method: 'tools/call', params }, session));
  for (;;) {
    const event = (await events.next())!;
    if (!event.data) continue;
    await events.cancel();
    return { session, last: event.id! };
  }
}

async function resume({ url }: RunningServer, { session, last }: Call): Promise<Events> {
  const headers = { accept: 'text/event-stream', 'last-event-id': last, ...session };
  return new Events(await fetch(url, { headers }));
}

/** The messages until the connection ends. */
async function rest(events: Events): Promise<any[]> {
  return (await events.rest()).flatMap(({ data }) => (data ? [JSON.parse(data)] : []));
}

describeWithRedis('the stream of a call', (shared) => {
  test('goes on at another one, on one connection, to its end', async () => {
    const [first, second] = await shared.serve(2);
    const call = await begin(first!, 'count', { to: 100 });
    const messages = await rest(await resume(second!, call));
    const progress = messages.slice(0, -1).map(({ params }) => params.progress);
    expect(progress).toEqual(Array.from({ length: 99 }, (_, n) => n + 2));
    expect(messages.at(-1)).toMatchObject({ id: 'call', result: { content: [{ text: 'counted to 100' }] } });
  });

  test('goes on at each one that the client asks in turn', async () => {
    const servers = await shared.serve(3);
    const { session, last: first } = await begin(servers[0]!, 'count', { to: 60 });
    let last = first;
    const progress: unknown[] = [];
    let result: unknown;
    for (let turn = 1; result === undefined; turn += 1) {
      const events = await resume(servers[turn % 3]!, { session, last });
      // Each connection is left after ten messages.
      for (let count = 0; count < 10 && result === undefined;) {
        const { id, data } = (await events.next())!;
        if (id) last = id;
        if (!data) continue;
        count += 1;
        const message = JSON.parse(data);
        if (message.id === undefined) progress.push(message.params.progress);
        else result = message.result;
      }
      await events.cancel();
    }
    expect(progress).toEqual(Array.from({ length: 59 }, (_, n) => n + 2));
    expect(result).toMatchObject({ content: [{ text: 'counted to 60' }] });
  });

  test('ends with one error if the process of the call is killed', async () => {
    const [first, second, third] = await shared.serve(3);
    const call = await begin(first!, 'wait', {});
    const events = await resume(second!, call);
    expect((await events.next())?.id).toBe(call.last);
    first!.child.kill('SIGKILL');
    await first!.stop();
    const failure = { id: 'call', error: { code: -32_000, message: expect.stringContaining('restarted') } };
    expect(await rest(events)).toMatchObject([failure]);
    expect(await rest(await resume(third!, call))).toMatchObject([failure]);
  });

  test.each(OFFICIAL)('goes on at another one for an official client whose connection is lost (%s)', async (kind) => {
    const servers = await shared.serve(2);
    const front = await frontOf(
      servers,
      ({ method }) => (method === 'GET' ? 1 : 0),
      ({ body }) => body.includes('"count"'),
    );
    const client = await connectOfficial(kind, 'http', at(front));
    onTestFinished(() => client.close().catch(() => {}));
    const seen: number[] = [];
    const result = await client.callTool(
      { name: 'count', arguments: { to: 100 } },
      { onprogress: ({ progress }: { progress: number }) => void seen.push(progress) },
    );
    expect(result).toMatchObject({ content: [{ text: 'counted to 100' }] });
    expect(seen).toEqual(Array.from({ length: 100 }, (_, n) => n + 1));
    const resumed = front.passed.filter(({ headers }) => headers['last-event-id'] !== undefined);
    expect(resumed.map(({ server }) => server)).toEqual([1]);
  });
});
