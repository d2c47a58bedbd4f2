import { expect, test } from 'vitest';
import type { WireRecord } from './record.ts';
import { RecordLog } from './record-log.ts';

test('a log keeps the newest records, and gives each reader a gap for the others', async () => {
  const log = new RecordLog(new Date(), { maxRecords: 3 });
  const add = (count: number): void => {
    for (let at = 0; at < count; at += 1) log.add({ t: at, layer: 'close', conn: 1 });
  };
  add(2);
  const reader = log.records();
  const next = async (): Promise<unknown> => ((await reader.next()).value as WireRecord[]).map(({ n }) => n);
  expect(await next()).toEqual([1, 2]);
  const read = reader.next();
  add(1);
  expect(((await read).value as WireRecord[]).map(({ n }) => n)).toEqual([3]);
  log.add({ t: 0, layer: 'gap', count: 10 });
  expect(await next()).toEqual([13]);
  add(5);
  log.close();
  const newest = [{ n: 16 }, { n: 17 }, { n: 18 }];
  expect((await reader.next()).value).toMatchObject([{ n: 15, layer: 'gap', from: 14 }, ...newest]);
  expect((await log.records().next()).value).toMatchObject([{ n: 15, layer: 'gap', from: 1 }, ...newest]);
});
