import { expect, test } from 'vitest';
import { StdioScript, rpc } from '../../test/support/wire-script.ts';
import { nextTurn } from '../base/wait.ts';
import type { JsonObject, ResultResponse as Result } from '../jsonrpc/message.ts';
import { callsOf } from '../mock/calls-of.ts';
import type { RecordedCall } from '../mock/recorded-call.ts';
import { compareSessions } from './compare.ts';
import { sessionIn } from './recorded-session.ts';
import { eventsOf } from './session-requests.ts';

const COUNT = 60_000;

function call(id: number, methods: readonly string[]): RecordedCall {
  const step = {
    sent: 1,
    related: true,
    isOwn: true,
    subscription: undefined,
    waitsFor: [],
    delay: 0,
    answer: undefined,
  };
  return {
    ...{ n: id, revision: '2025-11-25', session: 1, sent: 0, answered: 2, cancelled: undefined },
    message: { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'x' } },
    steps: [
      ...methods.map((method) => ({ ...step, message: { jsonrpc: '2.0' as const, method } })),
      { ...step, message: { jsonrpc: '2.0', id, result: { content: [] } } },
    ],
  };
}

function invented(name: string): string[] {
  return Array.from({ length: COUNT }, (_, at) => `notifications/${name}-${at}`);
}

test('notifications that a server invents are compared in linear time', async () => {
  const { requests } = await compareSessions(
    [call(1, [...invented('a'), 'notifications/x'])],
    [call(1, invented('b'))],
  );
  expect(requests).toMatchObject([{ outcome: 'changed', count: 2 * COUNT + 1 }]);
}, 20_000);

test('the pages of a long list are joined in linear time', () => {
  const pages = 3000;
  const pageOf = (page: number): RecordedCall => {
    const [step] = call(page, []).steps;
    const tools = Array.from({ length: 50 }, (_, at) => ({ name: `${page}-${at}` }));
    const result = { tools, ...(page < pages && { nextCursor: `${page + 1}` }) };
    const params = page === 1 ? {} : { cursor: `${page}` };
    return {
      ...call(page, []),
      message: { jsonrpc: '2.0', id: page, method: 'tools/list', params },
      steps: [{ ...step!, message: { jsonrpc: '2.0', id: page, result } }],
    };
  };
  const calls = Array.from({ length: pages }, (_, at) => pageOf(at + 1));
  const start = process.cpuUsage();
  const { requests } = eventsOf(calls);
  expect(process.cpuUsage(start).user / 1000).toBeLessThan(1000);
  expect(requests).toHaveLength(1);
  const { answer, first } = requests[0]!;
  expect({ answer, first }).toMatchObject({ answer: { id: pages }, first: { id: 1, result: { nextCursor: '2' } } });
  const names = (answer as Result).result['tools'].map(({ name }: { name: string }) => name);
  expect(names).toEqual(calls.flatMap((_, at) => Array.from({ length: 50 }, (__, entry) => `${at + 1}-${entry}`)));
  expect((first as Result).result['tools']).toHaveLength(50);
}, 60_000);

test('a member with the name __proto__ counts', async () => {
  const answered = (result: string): RecordedCall => {
    const [step, ...others] = call(1, []).steps;
    const message = { jsonrpc: '2.0' as const, id: 1, result: JSON.parse(result) as JsonObject };
    return { ...call(1, []), steps: [{ ...step!, message }, ...others] };
  };
  const { requests } = await compareSessions([answered('{"__proto__":{"a":1}}')], [answered('{"__proto__":{"a":2}}')]);
  expect(requests).toMatchObject([{ differences: [{ pointer: '/__proto__/a', before: 1, after: 2 }], count: 1 }]);
});

test('equal requests are compared in their order', async () => {
  const calls = Array.from({ length: 5 }, (_, at) => call(at, []));
  expect((await compareSessions(calls, calls)).counts).toEqual({ same: 5, changed: 0, missing: 0, new: 0 });
  const { counts, requests } = await compareSessions(calls, calls.slice(2));
  expect(counts).toEqual({ same: 3, changed: 0, missing: 2, new: 0 });
  expect(requests.map(({ records }) => records[1])).toEqual([2, 3, 4, undefined, undefined]);
  expect((await compareSessions(calls.slice(2), calls)).requests.map(({ records }) => records[1])).toEqual([
    0, 1, 2, 3, 4,
  ]);
});

test('what is no text where one belongs is compared, and no error', async () => {
  const odd = { toString: 1 };
  const name = odd;
  const script = new StdioScript().handshake('2025-11-25');
  for (const message of [{ method: odd }, { method: 'notifications/a', params: null }])
    script.server({ jsonrpc: '2.0', ...message }).client({ jsonrpc: '2.0', id: 'odd', ...message });
  script.client(rpc(1, 'tools/call', { name: 'a' })).server({ jsonrpc: '2.0', id: 1, result: null });
  script.call('tools/call', { name, requestState: odd }, { resultType: 'input_required', requestState: odd });
  script.call('tasks/get', { taskId: odd }, { inputRequests: { a: { method: odd } }, resultType: 'input_required' });
  async function* recorded() {
    yield* script.end().records;
  }
  const calls = await callsOf(recorded());
  const { counts, requests } = await compareSessions(calls, calls);
  expect(counts).toEqual({ same: 3, changed: 0, missing: 0, new: 0 });
  expect(requests.map(({ title }) => title)).toEqual(['initialize', 'tools/call', 'tasks/get']);
});

/** How often the event loop runs while something is done. */
async function turnsOf(work: Promise<unknown>): Promise<number> {
  let isDone = false;
  const done = work.finally(() => (isDone = true));
  let turns = 0;
  while (!isDone) {
    await nextTurn();
    turns += 1;
  }
  await done;
  return turns;
}

test('the event loop runs while a long session is read and compared', async () => {
  const script = new StdioScript().handshake('2025-11-25');
  for (let n = 0; n < 3000; n += 1) script.call('tools/call', { name: 'a', arguments: { n } }, { content: [] });
  const { records } = script.end();
  async function* recorded() {
    yield* records;
  }
  expect(records.length).toBeGreaterThan(6000);
  expect(await turnsOf(sessionIn(recorded(), 'a long session'))).toBeGreaterThan(10);
  const { calls } = await sessionIn(recorded(), 'a long session');
  expect(await turnsOf(Promise.resolve(compareSessions(calls, calls)))).toBeGreaterThan(10);
});

test('a message around missing records is missing, and not too large', async () => {
  const { records } = new StdioScript()
    .handshake('2025-11-25')
    .call('tools/call', { name: 'a' }, { content: [] })
    .end();
  const lost = records.findIndex((record, at) => record.layer === 'bytes' && at > records.length / 2);
  async function* recorded() {
    for (const [at, record] of records.entries())
      yield at === lost ? ({ n: record.n, t: record.t, layer: 'gap', from: record.n } as const) : record;
  }
  expect((await sessionIn(recorded(), 'one')).notes).toEqual([
    'Records are missing in one, so requests may be missing, too.',
  ]);
});

test('a message that is too large to be compared is named, and so are several', async () => {
  const script = new StdioScript().handshake('2025-11-25');
  const notesOf = async (name: string): Promise<readonly string[]> => {
    const { records } = script;
    async function* recorded() {
      yield* records;
    }
    return (await sessionIn(recorded(), name)).notes;
  };
  script.call('tools/call', { name: 'a' }, { content: [{ type: 'text', text: 'a'.repeat(4_000_000) }] });
  expect(await notesOf('one')).toEqual([]);
  // More than 4 MiB.
  script.call('tools/call', { name: 'a' }, { content: [{ type: 'text', text: 'a'.repeat(4_200_000) }] });
  expect(await notesOf('one')).toEqual([
    'one has a message that is too large to be compared, so requests may be missing.',
  ]);
  // More than 50,000 keys and values.
  script.call('tools/call', { name: 'a' }, { content: [], structuredContent: { a: Array(50_000).fill(1) } });
  script.end();
  expect(await notesOf('one')).toEqual([
    'one has 2 messages that are too large to be compared, so requests may be missing.',
  ]);
});
