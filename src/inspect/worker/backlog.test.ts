import { expect, test } from 'vitest';
import { startClock } from '../clock.ts';
import { RecordLog } from '../record-log.ts';
import type { WireRecord } from '../record.ts';
import { wireEvents } from '../wire-events.ts';
import { Backlog } from './backlog.ts';
import { BatchSlots, memoryFor } from './batch-slots.ts';
import { EventBatches } from './event-batches.ts';

const HTTP = { protocol: 'http', role: 'server' } as const;
const STDIO = { protocol: 'stdio', role: 'client' } as const;

/** A log whose records are found when they are read. Each `flush` ends a batch. */
function lateLog(maxBytes: number) {
  const { started, now } = startClock();
  const backlog = new Backlog(maxBytes);
  const log = new RecordLog(started, { backlog });
  const slots = new BatchSlots(memoryFor(2));
  const batches = new EventBatches(slots, (slot, length) => backlog.add(slots.read(slot, length)));
  return {
    wiretap: wireEvents(now, batches),
    flush: () => batches.send(),
    async read(): Promise<readonly WireRecord[]> {
      log.close();
      const all: WireRecord[] = [];
      for await (const records of log.records()) all.push(...records);
      return all;
    },
  };
}

const shapes = (records: readonly WireRecord[]): readonly string[] =>
  records.map((record) => [record.layer, 'conn' in record ? record.conn : record.n - record.from + 1].join(' '));

test('a reader that comes late gets all records', async () => {
  const { wiretap, flush, read } = lateLog(10_000);
  const tap = wiretap.open(STDIO);
  for (let id = 1; id <= 3; id += 1) {
    tap.bytes('c>s', Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"ping"}\n`));
    flush();
  }
  tap.close();
  flush();
  const call = ['bytes 1', 'line 1', 'message 1'];
  expect(shapes(await read())).toEqual(['open 1', ...call, ...call, ...call, 'close 1']);
});

test('a reader that comes too late gets a gap, then the newest records of connections that are still open', async () => {
  const { wiretap, flush, read } = lateLog(1000);
  const [lines, http, closed] = [wiretap.open(STDIO), wiretap.open(HTTP), wiretap.open(STDIO)];
  lines.bytes('s>c', Buffer.from('{"id":1,"res'));
  http.bytes('s>c', Buffer.from('HTTP/1.1 200 OK\r\n\r\n'));
  closed.close();
  flush();
  lines.bytes('s>c', Buffer.alloc(700, ' '));
  flush();
  lines.bytes('s>c', Buffer.from('ult":{}}\n{"jsonrpc":"2.0","id":2,"result":{}}\n'));
  http.bytes('s>c', Buffer.from('the end'));
  http.bytes('c>s', Buffer.from('GET / HTTP/1.1\r\n\r\n'));
  flush();
  const records = await read();
  expect(shapes(records)).toEqual([
    ...['gap 7', 'open 1', 'bytes 1', 'line 1', 'line 1', 'message 1'],
    ...['open 2', 'bytes 2', 'bytes 2', 'head 2'],
  ]);
  expect(records[2]).toMatchObject({ range: [712, 758] });
  expect(records[3]).toMatchObject({ note: 'cut off' });
  expect(records[7]).toMatchObject({ range: [19, 26] });
});
