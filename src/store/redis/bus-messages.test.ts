import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { garbageCollector } from '../../../test/support/garbage-collector.ts';
import { BusMessages, type Contents } from './bus-messages.ts';

const KEY = 'a state key of these tests';
const other = (letter: string): string => (letter === 'A' ? 'B' : 'A');

/** One message. */
function containing(body: string): Contents {
  return { confirmations: [], messages: [{ kind: 'call', body }], patient: false };
}

function pair(): { sender: BusMessages; receiver: BusMessages } {
  return { sender: new BusMessages('a', KEY), receiver: new BusMessages('b', KEY) };
}

test('a message is read as it was written', () => {
  const { sender, receiver } = pair();
  const { n, text, mac } = sender.write('b', containing('{"x":1}'));
  const messages = [{ kind: 'call', body: { x: 1 }, size: text.length }];
  expect(receiver.read(text, mac)).toEqual({ from: 'a', n, confirmations: [], messages, patient: false });
});

test('several messages and confirmations are read as they were written, in their order', () => {
  const { sender, receiver } = pair();
  const confirmations = [
    { n: 7, taken: [true, false], held: 3 },
    { n: 9, taken: [true], held: 0 },
  ];
  const given = ['{"x":[1,"]"]}', '{}', '{"x":3}'].map((body, at) => ({ kind: `kind "${at}",`, body }));
  const { text, mac } = sender.write('b', { confirmations, messages: given, patient: true });
  const messages = given.map(({ kind, body }) => ({ kind, body: JSON.parse(body), size: Math.ceil(text.length / 3) }));
  expect(receiver.read(text, mac)).toEqual({ from: 'a', n: 1, confirmations, messages, patient: true });
});

test('confirmations may come without a message', () => {
  const { sender, receiver } = pair();
  const confirmations = [{ n: 7, taken: [true], held: 3 }];
  const { text, mac } = sender.write('b', { confirmations, messages: [], patient: true });
  expect(receiver.read(text, mac)).toMatchObject({ confirmations, messages: [] });
});

test('numbers go up by one, so that a later message has a larger number', () => {
  const { sender } = pair();
  expect([1, 2, 3].map(() => sender.write('b', containing('{}')).n)).toEqual([1, 2, 3]);
});

test('the key has to have at least 16 bytes', () => {
  expect(() => new BusMessages('a', 'x'.repeat(15))).toThrow(RangeError);
  expect(() => new BusMessages('a', new Uint8Array(16))).not.toThrow();
});

test('a message of another key is forged', () => {
  const { receiver } = pair();
  const { text, mac } = new BusMessages('a', `${KEY}2`).write('b', containing('{}'));
  expect(receiver.read(text, mac)).toBe('forged');
});

test.each<[string, (text: string, mac: string) => [string, string]]>([
  ['changed text', (text, mac) => [text.replace('call', 'fall'), mac]],
  ['changed code', (text, mac) => [text, other(mac[0]!) + mac.slice(1)]],
  ['short code', (text, mac) => [text, mac.slice(0, 20)]],
  ['no code', (text) => [text, '']],
  ['longer code', (text, mac) => [text, `${mac}AAAA`]],
])('a message with %s is forged, and the true one is read afterwards', (_, change) => {
  const { sender, receiver } = pair();
  const { text, mac } = sender.write('b', containing('{}'));
  expect(receiver.read(...change(text, mac))).toBe('forged');
  expect(receiver.read(text, mac)).toMatchObject({ messages: [{ kind: 'call' }] });
});

test('the code is made with a key that is only for messages', () => {
  const { text, mac } = pair().sender.write('b', containing('{}'));
  const key = createHmac('sha256', KEY).update('everwire-bus').digest();
  expect(mac).toBe(createHmac('sha256', key).update(text).digest('base64url'));
});

test('a message copied from the inbox of another node is forged', () => {
  const { sender, receiver } = pair();
  const { text, mac } = sender.write('c', containing('{}'));
  expect(receiver.read(text, mac)).toBe('forged');
});

test('a message is read once, whatever was read after it', () => {
  const { sender, receiver } = pair();
  const [first, second] = [sender.write('b', containing('{}')), sender.write('b', containing('{}'))];
  expect(receiver.read(second.text, second.mac)).toMatchObject({ n: 2 });
  expect(receiver.read(first.text, first.mac)).toMatchObject({ n: 1 });
  expect(receiver.read(first.text, first.mac)).toBe('repeated');
  expect(receiver.read(second.text, second.mac)).toBe('repeated');
});

test('1,000 messages of a sender may overtake one, and not more', () => {
  const { sender, receiver } = pair();
  const sent = Array.from({ length: 3000 }, () => sender.write('b', containing('{}')));
  const read = (n: number): unknown => receiver.read(sent[n - 1]!.text, sent[n - 1]!.mac);
  expect(read(1001)).toMatchObject({ n: 1001 });
  expect(read(1)).toBe('repeated');
  expect(read(2)).toMatchObject({ n: 2 });
  // No number is forgotten that could come again.
  for (let n = 1002; n <= 3000; n += 1) expect(read(n)).toMatchObject({ n });
  for (let n = 1; n <= 3000; n += 1) expect(read(n)).toBe('repeated');
});

test('the numbers of one sender say nothing about those of another', () => {
  const { sender, receiver } = pair();
  const third = new BusMessages('c', KEY);
  const [one, two] = [sender.write('b', containing('{}')), third.write('b', containing('{}'))];
  expect(receiver.read(one.text, one.mac)).toMatchObject({ from: 'a', n: 1 });
  expect(receiver.read(two.text, two.mac)).toMatchObject({ from: 'c', n: 1 });
});

test('10,000 senders are remembered, and the one that came first is forgotten for the next', () => {
  const receiver = new BusMessages('b', KEY);
  const sent = Array.from({ length: 10_001 }, (_, i) => new BusMessages(`s${i}`, KEY).write('b', containing('{}')));
  const read = (at: number): unknown => receiver.read(sent[at]!.text, sent[at]!.mac);
  for (let at = 0; at < 10_000; at += 1) read(at);
  expect(read(0)).toBe('repeated');
  expect(read(10_000)).toMatchObject({ from: 's10000' });
  expect(read(1)).toBe('repeated');
  expect(read(0)).toMatchObject({ from: 's0' });
});

test('the numbers of many messages take no memory', () => {
  const collect = garbageCollector();
  const { sender, receiver } = pair();
  const read = (): unknown => {
    const { text, mac } = sender.write('b', containing('{}'));
    return receiver.read(text, mac);
  };
  for (let n = 0; n < 2000; n += 1) read();
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let n = 0; n < 50_000; n += 1) read();
  collect();
  // All of them would be 3 MB.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(1_000_000);
  expect(read()).toMatchObject({ n: 52_001 });
});
