import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { deferred } from '../../test/support/service.ts';
import type { Client } from '../client/client.ts';
import { connect } from '../client/connect.ts';
import type { ClientOptions } from '../client/options.ts';
import { McpServer } from '../server/index.ts';
import { memoryTransportPair } from '../transport/memory.ts';
import type { Transport } from '../transport/transport.ts';
import { createInbound, serve } from '../wire/serve.ts';
import { createBridge } from './bridge.ts';

afterEach(() => void vi.useRealTimers());

/** A server whose older call asks on demand, and whose newer call ends on demand. */
function server() {
  const [ask, end] = [deferred(), deferred()];
  const made = new McpServer({ name: 'behind', version: '1' });
  made.tool('older', {}, async (_args, ctx) => {
    await ask.promise;
    const answer = await ctx.elicit({ message: 'Who?', schema: z.object({ name: z.string() }) });
    return answer.action === 'accept' ? answer.content.name : answer.action;
  });
  made.tool('newer', {}, () => end.promise.then(() => 'done'));
  onTestFinished(() => made.close());
  /** A new connection to that server. Nothing on it says to which call a question belongs. */
  const target = (): Transport => {
    const [near, far] = memoryTransportPair();
    void serve(made.service, far, { eras: 'legacy' });
    return near;
  };
  return { target, ask: ask.resolve, end: end.resolve };
}

/** A client of a bridge to that server. */
async function throughBridge(target: () => Transport, options: ClientOptions): Promise<Client> {
  const bridge = createBridge({ target, anonymous: 'same-user' });
  onTestFinished(() => bridge.close());
  const inbound = createInbound(bridge.service, { sealState: false });
  onTestFinished(() => inbound.close(0));
  const [near, far] = memoryTransportPair();
  await inbound.connect(far);
  return connect(near, options);
}

type Connect = (target: () => Transport, options: ClientOptions) => Promise<Client>;

const CLIENTS: [string, Connect][] = [
  ['a client', (target, options) => connect(target, options)],
  ['a session of a bridge', (target, options) => throughBridge(target, { ...options, revision: '2025-11-25' })],
  ['a client of 2026-07-28 behind a bridge', throughBridge],
];

const text = ({ content = [] }: { content?: readonly unknown[] }): unknown => (content[0] as { text: string }).text;

test.each(CLIENTS)('%s answers the question of an older call after a newer one has ended', async (_, connectTo) => {
  const { target, ask, end } = server();
  const questionAsked = deferred();
  const userAnswers = deferred();
  let questions = 0;
  const client = await connectTo(target, {
    onelicit: async () => {
      questions += 1;
      questionAsked.resolve();
      await userAnswers.promise;
      return { action: 'accept', content: { name: 'Ann' } };
    },
  });
  onTestFinished(() => client.close());
  const older = client.callTool('older');
  const newer = client.callTool('newer');
  await client.listTools();
  ask();
  await questionAsked.promise;
  end();
  // Long enough for the end of a call to arrive.
  await client.listTools({ fresh: true });
  userAnswers.resolve();
  expect([text(await older), text(await newer)]).toEqual(['Ann', 'done']);
  expect(questions).toBe(1);
});

test('no call that may have asked times out while a user answers', async () => {
  // On a busy machine, some work waits for the next turn of the event loop.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
  const { target, ask, end } = server();
  const questionAsked = deferred();
  const userAnswers = deferred();
  const client = await connect(target, {
    timeout: 1000,
    onelicit: async () => {
      questionAsked.resolve();
      await userAnswers.promise;
      return { action: 'accept', content: { name: 'Ann' } };
    },
  });
  onTestFinished(() => client.close());
  const older = client.callTool('older');
  const newer = client.callTool('newer');
  ask();
  await questionAsked.promise;
  end();
  expect(text(await newer)).toBe('done');
  await vi.advanceTimersByTimeAsync(60_000);
  userAnswers.resolve();
  expect(text(await older)).toBe('Ann');
});
