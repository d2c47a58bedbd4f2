import { expect, onTestFinished, test } from 'vitest';
import { connect as connectOfficial, type ClientKind } from '../interop/clients.ts';
import { initialize } from '../support/http.ts';
import { frontOf } from './front.ts';
import { describeWithRedis } from './with-redis.ts';
import { at } from './world.ts';

/** Clients of HTTP+SSE, whose messages reach several processes in turn. One of these has the stream. */

const OFFICIAL: readonly ClientKind[] = ['sdk 1.x', 'client 2.x legacy'];

describeWithRedis('three servers', (shared) => {
  test.each(OFFICIAL)('serve a client whose messages reach any of them (%s)', async (kind) => {
    const front = await frontOf(await shared.serve(3));
    const client = await connectOfficial(kind, 'sse', at(front));
    onTestFinished(() => client.close().catch(() => {}));
    for (let n = 0; n < 5; n += 1) {
      const text = `call ${n}`;
      expect(await client.callTool({ name: 'echo', arguments: { text } })).toMatchObject({ content: [{ text }] });
      client.answers.elicitation = () => ({ action: 'accept', content: { name: text } });
      expect(JSON.stringify(await client.callTool({ name: 'ask' }))).toContain(text);
    }
    const abort = new AbortController();
    const call = client.callTool({ name: 'wait' }, { signal: abort.signal, onprogress: () => abort.abort() });
    await expect(call).rejects.toThrow(/abort/i);
    const cancellations = async () => (await client.callTool({ name: 'cancellations' }))['structuredContent'];
    await expect.poll(cancellations).toEqual({ result: 1 });
    for (const count of front.counts) expect(count).toBeGreaterThan(3);
    expect(client.errors).toEqual([]);
  });

  test('tell a client that its stream has ended with its process', async () => {
    const servers = await shared.serve(2);
    const stream = await fetch(servers[0]!.sseUrl, { headers: { accept: 'text/event-stream' } });
    const reader = stream.body!.getReader();
    const event = new TextDecoder().decode((await reader.read()).value);
    const address = /data: (\S+)/.exec(event)![1]!;
    const post = async (): Promise<number> => {
      const init = { method: 'POST', headers: { 'content-type': 'application/json' } };
      const url = new URL(address, servers[1]!.url);
      const response = await fetch(url, { ...init, body: JSON.stringify(initialize('2024-11-05')) });
      await response.text();
      return response.status;
    };
    expect(await post()).toBe(202);
    servers[0]!.child.kill('SIGKILL');
    await servers[0]!.stop();
    expect(await post()).toBe(404);
    await reader.cancel().catch(() => {});
  });
});
