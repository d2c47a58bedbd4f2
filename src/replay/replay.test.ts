import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { connect } from '../client/connect.ts';
import type { ClientOptions } from '../client/options.ts';
import { Capture } from '../inspect/capture.ts';
import type { WireRecord } from '../inspect/record.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { callsOf } from '../mock/calls-of.ts';
import type { RecordedCall } from '../mock/recorded-call.ts';
import type { Revision } from '../protocol/revisions.ts';
import { McpServer } from '../server/mcp-server.ts';
import { replay, type Replay, type ReplayOptions } from './replay.ts';

const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
});

const until = async (signal: AbortSignal): Promise<void> => {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
};
const readOnly = { annotations: { readOnlyHint: true } };
const form = { type: 'object', properties: { name: { type: 'string' } } } as const;

/** A server with one thing of each kind that can change. */
function serverOf(changed: boolean, sum = (): string | Promise<string> => (changed ? 'five' : 'four')): McpServer {
  const server = new McpServer({ name: 'changing', version: '1.0.0' });
  server.tool('same', readOnly, () => `${Math.PI}`);
  server.tool('sum', readOnly, sum);
  server.tool('described', { ...readOnly, description: changed ? 'New' : 'Old' }, () => 'text');
  server.tool('refuse', readOnly, () => {
    throw new RpcError(changed ? -32050 : -32051, 'Refused');
  });
  server.tool('ask', readOnly, async (_, ctx) => {
    const { action } = await ctx.elicit({ message: changed ? 'Your name?' : 'Name?', requestedSchema: form });
    return action;
  });
  server.tool('work', readOnly, async (_, ctx) => {
    await ctx.progress(1, 2, changed ? 'halfway' : 'half');
    return 'done';
  });
  server.tool('remove', {}, () => 'removed');
  if (!changed) server.tool('gone', readOnly, () => 'here');
  return server;
}

async function served(changed: boolean): Promise<string> {
  const listener = await serverOf(changed).listen({ port: 0 });
  open.push(listener);
  return listener.url;
}

/** Records what a client does. */
async function recordingOf(url: string, options: ClientOptions): Promise<RecordedCall[]> {
  const capture = new Capture();
  const client = await connect(url, {
    ...options,
    wiretap: capture,
    onelicit: () => ({ action: 'accept', content: { name: 'Ada' } }),
  });
  await client.listTools();
  for (const name of ['same', 'sum', 'described', 'ask', 'remove', 'gone']) await client.callTool(name);
  await client.callTool('refuse').catch(() => {});
  await client.callTool('work', {}, { onprogress: () => {} });
  await client.close();
  return callsOf(recordsOf(capture));
}

/** The records until all connections are closed. */
async function* recordsOf(capture: Capture): AsyncGenerator<WireRecord> {
  let count = 0;
  for await (const records of capture.records())
    for (const record of records) {
      yield record;
      if (record.layer === 'open') count += 1;
      if (record.layer === 'close') count -= 1;
      if (count === 0 && record.n === capture.newest) capture.close();
    }
}

describe.each(['2025-06-18', '2025-11-25', '2026-07-28'] as const)('a session of %s', (revision: Revision) => {
  let recorded: RecordedCall[];
  const replayed = (url: string, options: Partial<ReplayOptions> = {}): Promise<Replay> =>
    replay(recorded, { connect: (own) => connect(url, own), ...options });
  const differing = ({ requests }: Replay): unknown[] => requests.filter(({ outcome }) => outcome !== 'same');

  beforeEach(async () => {
    recorded = await recordingOf(await served(false), { revision });
  });

  test('shows no difference at the same server', async () => {
    const result = await replayed(await served(false), { mayCall: () => true });
    expect(differing(result)).toEqual([]);
    expect(result).toMatchObject({ differs: false, counts: { changed: 0, missing: 0, new: 0 }, notRepeated: [] });
    expect(result.counts.same).toBeGreaterThanOrEqual(10);
  });

  test('shows exactly what has changed', async () => {
    const result = await replayed(await served(true), { mayCall: (name) => name === 'gone' });
    const changed = (title: string, ...differences: object[]): object => ({
      title,
      outcome: 'changed',
      records: [expect.any(Number), undefined],
      count: differences.length,
      differences: differences.map((each) => expect.objectContaining(each)),
    });
    expect(differing(result)).toEqual([
      changed(
        'tools/list',
        { what: 'result', pointer: '/tools/described/description', before: 'Old', after: 'New' },
        { what: 'result', pointer: '/tools/gone', after: undefined },
      ),
      changed('tools/call sum', { what: 'result', pointer: '/content/0/text', before: 'four', after: 'five' }),
      changed('tools/call ask', {
        ...{ what: 'question', method: 'elicitation/create' },
        ...{ pointer: '/message', before: 'Name?', after: 'Your name?' },
      }),
      changed('tools/call gone', {
        ...{ what: 'answer', pointer: '' },
        before: { result: expect.objectContaining({ content: [{ type: 'text', text: 'here' }] }) },
        after: { error: expect.objectContaining({ code: -32602 }) },
      }),
      changed('tools/call refuse', { what: 'error', pointer: '/code', before: -32051, after: -32050 }),
      changed('tools/call work', {
        ...{ what: 'notification', method: 'notifications/progress' },
        ...{ pointer: '/message', before: 'half', after: 'halfway' },
      }),
    ]);
  });

  test('calls no tool that may change something, unless it may', async () => {
    const result = await replayed(await served(true));
    expect(result.notRepeated).toEqual([
      {
        title: 'tools/call remove',
        record: expect.any(Number),
        why: 'the tool is not marked as read-only',
        allow: 'remove',
      },
      {
        title: 'tools/call gone',
        record: expect.any(Number),
        why: 'the server does not list the tool',
        allow: 'gone',
      },
    ]);
    expect(result.requests.map(({ title }) => title)).not.toContain('tools/call remove');
  });

  test('does not show what is ignored', async () => {
    const ignore = ['/content/*/text', '/tools', '/message', '/code'];
    const result = await replayed(await served(true), { ignore });
    expect(differing(result)).toEqual([]);
  });
});

test.each(['2025-11-25', '2026-07-28'] as const)(
  'a call that was cancelled in %s is cancelled again',
  async (revision) => {
    let aborted = 0;
    const slow = async (): Promise<string> => {
      const server = new McpServer({ name: 'slow', version: '1.0.0' });
      server.tool('wait', readOnly, async (_, ctx) => {
        await ctx.progress(1);
        await until(ctx.signal);
        aborted += 1;
        return 'late';
      });
      const listener = await server.listen({ port: 0 });
      open.push(listener);
      return listener.url;
    };
    const capture = new Capture();
    const client = await connect(await slow(), { revision, wiretap: capture });
    const enough = new AbortController();
    const options = { signal: enough.signal, onprogress: () => enough.abort(new Error('enough')) };
    await client.listTools();
    await expect(client.callTool('wait', {}, options)).rejects.toThrow('enough');
    await expect.poll(() => aborted).toBe(1);
    await client.close();
    const recorded = await callsOf(recordsOf(capture));
    const url = await slow();
    const result = await replay(recorded, { connect: (own) => connect(url, own) });
    expect(result).toMatchObject({ differs: false, counts: { missing: 0 } });
    await expect.poll(() => aborted).toBe(2);
  },
);

test('a server that does not answer in time has no answer', async () => {
  const recorded = await recordingOf(await served(false), { revision: '2026-07-28' });
  const listener = await serverOf(false, () => new Promise<string>(() => {})).listen({ port: 0 });
  open.push(listener);
  const result = await replay(recorded, { connect: (own) => connect(listener.url, own), timeout: 200 });
  const sum = result.requests.find(({ title }) => title === 'tools/call sum');
  expect(sum).toMatchObject({ outcome: 'changed', differences: [{ what: 'answer', after: undefined }] });
});

test('a place to ignore must be a JSON pointer or a notification', async () => {
  const options = { connect: () => Promise.reject(new Error('not reached')), ignore: ['result.time'] };
  await expect(replay([], options)).rejects.toThrow('and not "result.time"');
});
