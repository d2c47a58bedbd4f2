import { signal } from '@preact/signals';
import { expect, test } from 'vitest';
import { RecordStore } from '../wire/record-store.ts';
import { readLine } from '../wire/wire-record.ts';
import { Notices } from './notices.ts';

/** A wire to which messages of a server can be added. */
function wire(): { notices: Notices; say: (...messages: object[]) => void } {
  const store = new RecordStore();
  const version = signal(0);
  const started = signal<Date | undefined>(new Date('2026-01-01T00:00:00Z'));
  const notices = new Notices({ store, source: { version, started } });
  let n = 0;
  let offset = 0;
  const say = (...messages: object[]): void => {
    for (const message of messages) {
      const data = JSON.stringify({ jsonrpc: '2.0', ...message });
      const range = [offset, (offset += data.length)];
      const place = { t: 2_000_000, conn: 1, dir: 's>c', range };
      const { method } = message as { method?: string };
      const part = { ...place, layer: 'message', kind: 'notification', method };
      store.add(
        [
          { ...place, n: ++n, layer: 'bytes', data },
          { ...part, n: ++n },
        ].map((each) => readLine(JSON.stringify(each))),
      );
    }
    version.value += 1;
  };
  return { notices, say };
}

const log = (params: object): object => ({ method: 'notifications/message', params });

test('log messages are kept with level, logger, time and data of any type', () => {
  const { notices, say } = wire();
  say(log({ level: 'error', logger: 'db', data: 'no' }), { method: 'notifications/progress' });
  say(log({ level: 'loud', logger: 5, data: { a: [1] } }), log([]));
  expect(notices.messages.value.map(({ n, level, logger, text }) => [n, level, logger, text])).toEqual([
    [2, 'error', 'db', 'no'],
    [6, undefined, undefined, '{"a":[1]}'],
    [8, undefined, undefined, 'This message is not in memory.'],
  ]);
  expect(notices.messages.value[0]!.time.toISOString()).toBe('2026-01-01T00:00:02.000Z');
  notices.clearMessages();
  say(log({ data: 'new' }));
  expect(notices.messages.value.map(({ text }) => text)).toEqual(['new']);
});

test('only the newest 2,000 log messages are kept', () => {
  const { notices, say } = wire();
  say(...Array.from({ length: 2500 }, (_, at) => log({ data: String(at) })));
  expect(notices.messages.value).toHaveLength(2000);
  expect(notices.messages.value.at(-1)!.text).toBe('2499');
});

test('changes are counted by resource and by list', () => {
  const { notices, say } = wire();
  const updated = (uri: unknown): object => ({ method: 'notifications/resources/updated', params: { uri } });
  say(updated('a:'), updated('b:'), updated('a:'), updated(7), { method: 'notifications/tools/list_changed' });
  expect([...notices.updates.value].map(([uri, { count, n }]) => [uri, count, n])).toEqual([
    ['b:', 1, 4],
    ['a:', 2, 6],
  ]);
  expect([...notices.lists.value.keys()]).toEqual(['notifications/tools/list_changed']);
});
