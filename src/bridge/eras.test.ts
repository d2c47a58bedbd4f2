import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { Deferred } from '../base/deferred.ts';
import { nextTurn } from '../base/wait.ts';
import { connect } from '../client/connect.ts';
import type { Client } from '../client/client.ts';
import type { ClientOptions } from '../client/options.ts';
import { McpErrorCode } from '../protocol/errors.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { LEGACY_REVISIONS, type Revision } from '../protocol/revisions.ts';
import { McpServer } from '../server/index.ts';
import { memoryTransportPair } from '../transport/memory.ts';
import type { Transport } from '../transport/transport.ts';
import { createInbound, serve } from '../wire/serve.ts';
import { createBridge, type Bridge, type BridgeOptions } from './bridge.ts';

type Eras = 'legacy' | 'modern';

const number = z.object({ x: z.number() });

/** A server that uses features which the other era does not have. */
function server(): McpServer {
  const made = new McpServer({ name: 'behind', version: '1' });
  made.tool('who', { input: z.object({ n: z.number() }) }, async ({ n }, ctx) => {
    const answer = await ctx.elicit({ message: `Who is ${n}?`, schema: z.object({ name: z.string() }) });
    return `${n} is ${answer.action === 'accept' ? answer.content.name : answer.action}`;
  });
  made.tool('twice', {}, async (_args, ctx) => {
    const one = await ctx.elicit({ message: 'one?', schema: number });
    const two = await ctx.elicit({ message: 'two!?', schema: number });
    return JSON.stringify([one, two]);
  });
  made.tool('sample', {}, async (_args, ctx) => {
    const { content } = await ctx.sample({
      messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }],
      maxTokens: 5,
    });
    return JSON.stringify(content);
  });
  made.tool('roots', {}, async (_args, ctx) => JSON.stringify(await ctx.roots()));
  made.tool('quiet', { input: z.object({ n: z.number() }) }, ({ n }) => `${n}`);
  made.tool('talk', {}, async (_args, ctx) => {
    await ctx.log('debug', 'psst');
    await ctx.log('warning', 'hear');
    await ctx.progress(1, 2);
    return 'said';
  });
  onTestFinished(() => made.close());
  return made;
}

function bridged(
  behind: McpServer,
  eras: Eras,
  options: Partial<BridgeOptions> = {},
): { bridge: Bridge; ends: number[]; errors: string[] } {
  const ends: number[] = [];
  const errors: string[] = [];
  const bridge = createBridge({
    target: (): Transport => {
      const [near, far] = memoryTransportPair();
      ends.push(ends.length);
      void serve(behind.service, far, { eras });
      return near;
    },
    onerror: ({ message }) => void errors.push(message),
    ...options,
  });
  onTestFinished(() => bridge.close());
  return { bridge, ends, errors };
}

/** Several clients of one inbound, as over HTTP. */
function clients(bridge: Bridge): (options?: ClientOptions) => Promise<Client> {
  const inbound = createInbound(bridge.service);
  onTestFinished(() => inbound.close(0));
  return async (options = {}) => {
    const [near, far] = memoryTransportPair();
    await inbound.connect(far);
    const client = await connect(near, options);
    onTestFinished(() => client.close());
    return client;
  };
}

const text = ({ content = [] }: { content?: readonly unknown[] }): unknown => (content[0] as { text: string }).text;
const elicited = (name: string) => async () => ({ action: 'accept' as const, content: { name } });

const CELLS: [Revision, Eras][] = [...LEGACY_REVISIONS, '2026-07-28' as const].flatMap(
  (revision): [Revision, Eras][] => [
    [revision, 'legacy'],
    [revision, 'modern'],
  ],
);

test.each(CELLS)(
  'a client of %s exchanges requests, questions and notifications with a server of the %s era',
  async (revision, eras) => {
    const { bridge, errors } = bridged(server(), eras);
    const logs: unknown[] = [];
    const client = await clients(bridge)({
      revision,
      logLevel: 'info',
      onlog: ({ data }) => void logs.push(data),
      onelicit: async ({ message }) => {
        const content: Record<string, string | number> = message.startsWith('Who')
          ? { name: message }
          : { x: message.length };
        return { action: 'accept', content };
      },
      onsample: async () => ({ role: 'assistant', content: { type: 'text', text: 'ho' }, model: 'm' }),
      onroots: () => [{ uri: 'file:///r', name: 'r' }],
    });
    expect(client.revision).toBe(revision);
    expect((await client.listTools()).map(({ name }) => name)).toContain('who');
    expect(text(await client.callTool('sample'))).toContain('ho');
    expect(text(await client.callTool('roots'))).toContain('file:///r');
    const calls = [client.callTool('who', { n: 7 }), client.callTool('twice')];
    const outcomes = await Promise.all(calls.map((call) => call.then(text, (error: Error) => error.message)));
    // Before 2025-06-18 there are no elicitations.
    const cannot = expect.stringContaining('the elicitation capability');
    const answers = ['7 is Who is 7?', expect.stringContaining('{"x":5}')];
    expect(outcomes).toEqual(revision < '2025-06-18' ? [cannot, cannot] : answers);
    const progress: number[] = [];
    expect(text(await client.callTool('talk', {}, { onprogress: ({ progress: at }) => void progress.push(at) }))).toBe(
      'said',
    );
    expect(progress).toEqual([1]);
    expect(logs).toEqual(['hear']);
    expect(errors).toEqual([]);
  },
);

test('a URL elicitation required by a server of 2025-11-25 reaches a client of 2026-07-28 as a question', async () => {
  let visits = 0;
  const behind = new McpServer({ name: 'behind', version: '1' });
  onTestFinished(() => behind.close());
  behind.tool('visit', {}, () => {
    if (visits > 0) return 'in';
    throw new RpcError(McpErrorCode.UrlElicitationRequired, 'Log in first', {
      data: { elicitations: [{ mode: 'url', url: 'https://log.in/', message: 'Log in', elicitationId: '1' }] },
    });
  });
  const { bridge } = bridged(behind, 'legacy');
  const make = clients(bridge);
  const client = await make({
    onelicit: {
      url: async (question) => {
        visits += 1;
        expect(question).toMatchObject({ mode: 'url', url: 'https://log.in/', message: 'Log in' });
        return { action: 'accept' };
      },
    },
  });
  expect(text(await client.callTool('visit'))).toBe('in');
  visits = 0;
  const reluctant = await make({ onelicit: { url: async () => ({ action: 'decline' }) } });
  await expect(reluctant.callTool('visit')).rejects.toThrow('declined');
  const old = await make({ revision: '2025-11-25', onelicit: { url: async () => ({ action: 'accept' }) } });
  await expect(old.callTool('visit')).rejects.toMatchObject({ code: -32042 });
});

test.each<[string, Partial<BridgeOptions>, number]>([
  ['shared', { connections: 'shared' }, 1],
  ['pooled', { connections: 3 }, 3],
  ['of different users', {}, 1],
])(
  'on a connection that is %s each question reaches its own caller, however many are open',
  async (_, options, most) => {
    const { bridge, ends, errors } = bridged(server(), 'legacy', options);
    const make = clients(bridge);
    const people = await Promise.all(
      Array.from({ length: 20 }, async (__, n) =>
        make({
          revision: n % 4 === 3 && options.connections ? '2025-06-18' : '2026-07-28',
          clientInfo: { name: 'same', version: '1' },
          onelicit: async ({ message }) => {
            await new Promise((resolve) => void setTimeout(resolve, 5 * (n % 3)));
            return { action: 'accept', content: { name: `${n} who was asked ${message}` } };
          },
        }),
      ),
    );
    const answers = await Promise.all(
      people.flatMap((client, n) => [
        client.callTool('who', { n }),
        client.callTool('quiet', { n }),
        client.callTool('who', { n: n + 100 }),
      ]),
    );
    expect(answers.map(text)).toEqual(
      people.flatMap((__, n) => [
        `${n} is ${n} who was asked Who is ${n}?`,
        `${n}`,
        `${n + 100} is ${n} who was asked Who is ${n + 100}?`,
      ]),
    );
    expect(ends.length).toBeLessThanOrEqual(most);
    expect(errors).toEqual([]);
    expect(bridge.waiting).toBe(0);
  },
);

test('a caller who answers slowly keeps others from being asked, but not from calls of other tools', async () => {
  const { bridge } = bridged(server(), 'legacy', { connections: 'shared' });
  const make = clients(bridge);
  const asked = new Deferred();
  const answer = new Deferred<{ action: 'accept'; content: { name: string } }>();
  const slow = await make({
    onelicit: () => {
      asked.resolve();
      return answer.promise;
    },
  });
  const quick = await make({ onelicit: elicited('quick') });
  const waiting = slow.callTool('who', { n: 1 });
  await asked.promise;
  const next = quick.callTool('who', { n: 2 });
  expect(text(await quick.callTool('quiet', { n: 3 }))).toBe('3');
  expect(bridge.waiting).toBe(1);
  answer.resolve({ action: 'accept', content: { name: 'slow' } });
  expect((await Promise.all([waiting, next])).map(text)).toEqual(['1 is slow', '2 is quick']);
});

/** A shared connection to a modern server that ends before it reads a call, and is of the legacy era when it is back. */
function changingEra(behind: McpServer, end: Promise<void>): { bridge: Bridge; ends: number[] } {
  const { bridge, ends } = bridged(behind, 'legacy', {
    connections: 'shared',
    target: (): Transport => {
      const [near, far] = memoryTransportPair();
      ends.push(ends.length);
      void serve(behind.service, far, { eras: ends.length === 1 ? 'modern' : 'legacy' });
      if (ends.length > 1) return near;
      const send = near.send.bind(near);
      // As a pipe to a process that has ended.
      near.send = async (message) => {
        if (!('method' in message) || message.method !== 'tools/call') return send(message);
        await end;
        throw Object.assign(new Error('write EPIPE'), { notExecuted: true, sessionGone: true });
      };
      return near;
    },
  });
  return { bridge, ends };
}

test('a call that is repeated at a restarted server of the other era keeps its questions, on a shared connection', async () => {
  const other = new Deferred();
  const asked = new Deferred();
  const behind = new McpServer({ name: 'behind', version: '1' });
  onTestFinished(() => behind.close());
  behind.tool('ask', {}, async (_args, ctx) => {
    await other.promise;
    const answer = ctx.elicit({ message: 'Who?', schema: z.object({ name: z.string() }) });
    await nextTurn();
    asked.resolve();
    return JSON.stringify(await answer);
  });
  behind.tool('wait', {}, async () => {
    other.resolve();
    await asked.promise;
    return 'done';
  });
  const { bridge, ends } = changingEra(behind, Promise.resolve());
  const make = clients(bridge);
  const first = await make({ onelicit: elicited('first') });
  const second = await make({ onelicit: elicited('second') });
  const asking = first.callTool('ask');
  await vi.waitUntil(() => ends.length === 2);
  expect(text(await second.callTool('wait'))).toBe('done');
  expect(text(await asking)).toContain('first');
});

test('calls that are repeated at a restarted server of the other era take turns, on a shared connection', async () => {
  const end = new Deferred();
  const { bridge, ends } = changingEra(server(), end.promise);
  const make = clients(bridge);
  const people = await Promise.all(['first', 'second'].map((name) => make({ onelicit: elicited(name) })));
  const calls = people.map((client, n) => client.callTool('who', { n }));
  await nextTurn();
  await nextTurn();
  end.resolve();
  expect((await Promise.all(calls)).map(text)).toEqual(['0 is first', '1 is second']);
  expect(ends).toHaveLength(2);
});
