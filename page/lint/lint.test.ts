import { signal } from '@preact/signals';
import { expect, test } from 'vitest';
import { LineBuffer } from '../../src/inspect/line-buffer.ts';
import { Linter } from '../../src/lint/linter.ts';
import { HttpScript, StdioScript, type WireScript } from '../../test/support/wire-script.ts';
import { RecordStore, type StoreLimits } from '../wire/record-store.ts';
import { readLine } from '../wire/wire-record.ts';
import type { PageFinding } from './finding.ts';
import { Lint, type LintWorker } from './lint.ts';
import { lintRecordOf, type SentRecord } from './sent-record.ts';

/** A worker that a test lets work. */
class SteppedWorker implements LintWorker {
  readonly batches: (readonly SentRecord[])[] = [];
  onmessage: LintWorker['onmessage'] = null;
  onerror: LintWorker['onerror'] = null;
  terminated = false;
  #answered = 0;

  postMessage(records: readonly SentRecord[]): void {
    this.batches.push(structuredClone(records));
  }

  terminate(): void {
    this.terminated = true;
  }

  /** Answers the batch that waits. Returns false if there is none. */
  answer(found: readonly PageFinding[] = []): boolean {
    if (this.#answered === this.batches.length) return false;
    this.#answered += 1;
    this.onmessage!({ data: found } as MessageEvent<readonly PageFinding[]>);
    return true;
  }

  get numbers(): number[] {
    return this.batches.flat().map(({ n }) => n);
  }
}

function world(limits?: StoreLimits) {
  const store = new RecordStore(limits);
  const added = signal(0);
  const worker = new SteppedWorker();
  const lint = new Lint(store, added, () => worker);
  const add = (script: WireScript, from = 1, to = Infinity): void => {
    const lines = new LineBuffer(false);
    for (const record of script.records) if (record.n >= from && record.n <= to) lines.add(record);
    const text = lines.take().toString().trimEnd();
    store.add(text.split('\n').map(readLine));
    added.value += 1;
  };
  return { store, worker, lint, add };
}

const session = (): StdioScript => new StdioScript().handshake('2025-11-25').call('ping', {}, {}).end();

test('the records that the worker gets lead to the same findings as those of the capture', async () => {
  const http = new HttpScript().handshake('2025-11-25');
  http.exchange(
    { message: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ä', arguments: 1 } } },
    { frames: ['id: 1\nevent: other\ndata:\n\n', { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'no' }] } }] },
  );
  const script = http.end();
  const { worker, add } = world();
  add(script);
  while (worker.answer());
  const linter = new Linter();
  const found: string[] = [];
  for (const record of worker.batches.flat())
    for (const { rule, seen, records } of await linter.add(lintRecordOf(record)))
      found.push(`${rule.id} ${seen} ${records.join()}`);
  const expected = (await script.findings()).map(({ rule, seen, records }) => `${rule.id} ${seen} ${records.join()}`);
  expect(expected.length).toBeGreaterThan(1);
  expect(found).toEqual(expected);
});

test('the worker gets one batch at a time, and every record once', () => {
  const script = session();
  const { length } = script.records;
  const { worker, lint, add } = world();
  add(script, 1, 3);
  add(script, 4, 5);
  expect(worker.numbers).toEqual([1, 2, 3]);
  expect(lint.judged).toBe(0);
  worker.answer();
  expect(worker.numbers).toEqual([1, 2, 3, 4, 5]);
  expect(lint.judged).toBe(3);
  worker.answer();
  add(script, 6);
  while (worker.answer());
  expect(worker.numbers).toEqual(script.records.map(({ n }) => n));
  expect(lint.judged).toBe(length);
  expect(lint.skipped).toBe(0);
});

test('the worker gets a gap for records that were dropped before it could judge them', () => {
  const script = session();
  for (let id = 10; id < 60; id += 1) script.call('ping', {}, {});
  const { worker, lint, store, add } = world({ maxRecords: 20 });
  add(script, 1, 2);
  add(script, 3);
  const kept = store.records[0]!.n;
  expect(kept).toBeGreaterThan(20);
  while (worker.answer());
  expect(worker.batches[1]![0]).toEqual({ n: kept - 1, layer: 'gap' });
  expect(worker.batches[1]![1]!.n).toBe(kept);
  expect(lint.skipped).toBe(kept - 3);
  expect(lint.judged).toBe(store.newest);
});

test('a worker that fails is ended, and the page says so', () => {
  const { worker, lint, add } = world();
  add(session(), 1, 3);
  let prevented = false;
  worker.onerror!({ message: 'out of memory', preventDefault: () => (prevented = true) } as unknown as ErrorEvent);
  expect(lint.problem.value).toBe('out of memory');
  expect([prevented, worker.terminated]).toEqual([true, true]);
  add(session(), 4);
  expect(worker.batches).toHaveLength(1);
});
