import { expect, test } from 'vitest';
import type { WireRecord } from '../wire/wire-record.ts';
import { answerRecord, memberText } from './answer-record.ts';
import type { Outcome } from './request.ts';

type Store = Parameters<typeof answerRecord>[0];

function storeOf(...messages: readonly (readonly [method: string, text: string])[]): Store {
  const records = messages.map(([method, text], at) => {
    const kind = text.includes('"error"') ? 'error' : 'result';
    return { n: at + 1, layer: 'message', dir: 's>c', kind, spans: [{ method }], text } as unknown as WireRecord;
  });
  const text = (record: WireRecord): string => (record as unknown as { text: string }).text;
  return { records, text, sideOf: () => undefined };
}

const result = (value: object): Outcome => ({ kind: 'result', result: value, duration: 0 });

test('the first answer with the same result is found, and its numbers are as written', () => {
  const text = '{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"n":1.50,"big":12345678901234567890}}}';
  const store = storeOf(
    ['tools/call', text],
    ['tools/call', text],
    ['tools/list', text],
    ['tools/call', '{"result":{}}'],
  );
  const found = answerRecord(
    store,
    'tools/call',
    result({ structuredContent: { n: 1.5, big: Number('12345678901234567890') } }),
  );
  expect(found).toEqual({ n: 1, result: '{"structuredContent":{"n":1.50,"big":12345678901234567890}}' });
  expect(memberText(found!.result!, 'structuredContent')).toBe('{"n":1.50,"big":12345678901234567890}');
});

test('records that were searched before are not searched again', () => {
  const store = storeOf(['tools/call', '{"result":{"a":1}}'], ['tools/call', '{"result":{"a":2}}']);
  expect(answerRecord(store, 'tools/call', result({ a: 1 }), 1)).toBeUndefined();
  expect(answerRecord(store, 'tools/call', result({ a: 2 }), 1)?.n).toBe(2);
});

test('a result that is not on the wire has no record', () => {
  expect(answerRecord(storeOf(['tools/call', '{"result":{"a":1}}']), 'tools/call', result({ a: 2 }))).toBeUndefined();
  expect(answerRecord(storeOf(), 'tools/call', { kind: 'refused', message: 'no' })).toBeUndefined();
});

test('an error is found by its code and message', () => {
  const store = storeOf(['tools/call', '{"id":1,"error":{"code":-32602,"message":"bad"}}']);
  const error = (code: number): Outcome => ({ kind: 'error', error: { code, message: 'bad' }, duration: 0 });
  expect(answerRecord(store, 'tools/call', error(-32602))).toEqual({ n: 1, result: undefined });
  expect(answerRecord(store, 'tools/call', error(-1))).toBeUndefined();
});

test('of two members with one name, the last counts', () => {
  expect(memberText('{"a":1.0,"a": 2.00 }', 'a')).toBe('2.00');
  expect(memberText('[1]', 'a')).toBeUndefined();
  expect(memberText('{', 'a')).toBeUndefined();
});

test('a message with invalid JSON is no answer', () => {
  const store = storeOf(['tools/call', '{"id":1,"result":{"a":1}}'], ['tools/call', '{"id":1,"result":{a}}']);
  expect(answerRecord(store, 'tools/call', result({ a: 1 }))?.n).toBe(1);
});

test('a member of a text with too many values is not searched, because the page would freeze', () => {
  const text = (length: number): string => JSON.stringify({ a: Array.from({ length }, () => 1) });
  expect(memberText(text(19_000), 'a')).toMatch(/^\[1,1/);
  expect(memberText(text(20_000), 'a')).toBeUndefined();
});

test('messages from before the request are not read', () => {
  const store = storeOf(['tools/call', '{"result":{"a":1}}'], ['tools/call', '{"result":{"a":1}}']);
  const read: number[] = [];
  const text = (record: WireRecord): string | undefined => {
    read.push(record.n);
    return store.text(record);
  };
  expect(answerRecord({ ...store, text }, 'tools/call', result({ a: 1 }), 1)?.n).toBe(2);
  expect(read).toEqual([2]);
});
