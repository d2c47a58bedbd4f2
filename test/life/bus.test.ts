import { expect, onTestFinished, test } from 'vitest';
import { connect as connectOfficial, type ClientKind, type OfficialClient } from '../interop/clients.ts';
import { programs, type RunningServer } from '../support/process.ts';
import { frontOf, type Front, type Passing } from './front.ts';
import { describeWithRedis, type Shared } from './with-redis.ts';
import { at, bridgeTo } from './world.ts';

/** Official clients, whose answers, cancellations and settings reach another process than their calls. */

const OFFICIAL: readonly ClientKind[] = ['sdk 1.x', 'client 2.x legacy'];

/** Calls go to the first server, everything else to the second one. */
const callsFirst = ({ body }: Passing): number => (body.includes('"tools/call"') ? 0 : 1);

interface Started {
  readonly servers: readonly RunningServer[];
  readonly front: Front;
  readonly client: OfficialClient;
}

async function start(
  shared: Shared,
  kind: ClientKind,
  choose?: (passing: Passing) => number | undefined,
  program?: readonly string[],
): Promise<Started> {
  const servers = await shared.serve(2, program);
  const front = await frontOf(servers, choose);
  const client = await connectOfficial(kind, 'http', at(front));
  onTestFinished(() => client.close().catch(() => {}));
  return { servers, front, client };
}

const textOf = (result: Record<string, any>): string => result['content'][0].text;

describeWithRedis('two servers', (shared) => {
  test.each(OFFICIAL)('ask, and the answers reach the other one (%s)', async (kind) => {
    const { front, client } = await start(shared, kind, callsFirst);
    expect(textOf(await client.callTool({ name: 'ask' }))).toContain('Ada');
    expect(textOf(await client.callTool({ name: 'sample', arguments: { prompt: 'Say it.' } }))).toContain('sampled');
    expect(textOf(await client.callTool({ name: 'roots' }))).toContain('file:///tmp/project');
    const answers = front.passed.filter(({ body }) => body.includes('"result"'));
    expect(answers.map(({ server }) => server)).toEqual([1, 1, 1]);
    expect(client.errors).toEqual([]);
  });

  test.each(OFFICIAL)('ask in turn, and so do two bridges (%s)', async (kind) => {
    for (const program of [programs.features, bridgeTo([...programs.features, '--stdio'], '--port', '0')]) {
      const { front, client } = await start(shared, kind, undefined, program);
      for (let n = 0; n < 8; n += 1) {
        client.answers.elicitation = () => ({ action: 'accept', content: { name: `number ${n}` } });
        expect(textOf(await client.callTool({ name: 'ask' }))).toContain(`number ${n}`);
      }
      for (const count of front.counts) expect(count).toBeGreaterThan(3);
    }
  });

  test.each(OFFICIAL)('cancel a call that runs at the other one (%s)', async (kind) => {
    const { client } = await start(shared, kind, callsFirst);
    const abort = new AbortController();
    const call = client.callTool({ name: 'wait' }, { signal: abort.signal, onprogress: () => abort.abort() });
    await expect(call).rejects.toThrow(/abort/i);
    const cancellations = async () => (await client.callTool({ name: 'cancellations' }))['structuredContent'];
    await expect.poll(cancellations).toEqual({ result: 1 });
    expect(client.errors).toEqual([]);
  });

  test.each(OFFICIAL)('take a log level from the other one (%s)', async (kind) => {
    const { client } = await start(shared, kind, callsFirst);
    const log = (level: string) => client.callTool({ name: 'log', arguments: { level, data: level } });
    await log('info');
    await client.setLevel('error');
    await log('info');
    await log('error');
    await client.setLevel('debug');
    await log('debug');
    await client.notice('notifications/message', ({ data }) => data === 'debug');
    const logged = client.notices.flatMap(({ method, params }) =>
      method === 'notifications/message' ? [params?.['data']] : [],
    );
    expect(logged).toEqual(['info', 'error', 'debug']);
  });

  test.each(OFFICIAL)('end a session that the other one has, with its calls (%s)', async (kind) => {
    const { servers, front, client } = await start(shared, kind, callsFirst);
    let begun!: () => void;
    const hasBegun = new Promise<void>((resolve) => (begun = resolve));
    const call = client.callTool({ name: 'wait' }, { onprogress: begun }).catch((error: unknown) => error);
    await hasBegun;
    const session = front.passed.find(({ headers }) => headers['mcp-session-id'])!.headers['mcp-session-id'] as string;
    await client.close();
    expect(await call).toBeInstanceOf(Error);
    for (const { url } of servers) {
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-session-id': session,
        },
        body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
      });
      expect(response.status).toBe(404);
      await response.text();
    }
    const other = await connectOfficial(kind, 'http', at(front));
    onTestFinished(() => other.close().catch(() => {}));
    const cancellations = async () => (await other.callTool({ name: 'cancellations' }))['structuredContent'];
    await expect.poll(cancellations).toEqual({ result: 1 });
  });

  test('refuse the answer to a question of a server that was killed', async () => {
    const { servers, client } = await start(shared, 'sdk 1.x', callsFirst);
    client.answers.elicitation = () => {
      servers[0]!.child.kill('SIGKILL');
      return { action: 'accept', content: { name: 'Ada' } };
    };
    const call = client.callTool({ name: 'ask' });
    await expect(call).rejects.toThrow('The server was restarted before this was done');
    await expect.poll(() => client.errors.map(String).join()).toContain('No question waits for this answer');
  });
});
