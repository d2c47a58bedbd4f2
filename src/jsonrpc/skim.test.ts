import { describe, expect, test } from 'vitest';
import { MessageSkim, type Envelope } from './skim.ts';

const large = 'x'.repeat(100_000);

/** What is known of a text, in one piece and byte by byte. */
function skimmed(text: string): Envelope {
  const bytes = Buffer.from(text);
  const whole = new MessageSkim();
  whole.push(bytes);
  const parts = new MessageSkim();
  for (let at = 0; at < bytes.length; at += 7) parts.push(bytes.subarray(at, at + 7));
  expect(parts.envelope).toEqual(whole.envelope);
  return whole.envelope;
}

const response = (id: Envelope['id']): Envelope => ({ kind: 'message', id, hasMethod: false });

describe('the id of a skipped message is read', () => {
  test.each<[string, string, Envelope]>([
    ['before the result', `{"jsonrpc":"2.0","id":7,"result":{"id":8,"a":[{"id":9}],"text":"${large}"}}`, response(7)],
    ['behind the result', `{"result":{"text":"${large}","id":8},"jsonrpc":"2.0","id":7}`, response(7)],
    ['with blanks', ` { "id" : 7 , "result" : { } } `, response(7)],
    ['where it is text', `{"id":"a\\"b","result":{}}`, response('a"b')],
    ['where its name is escaped', `{"\\u0069d":7,"result":{}}`, response(7)],
    ['past strings that look like more', `{"result":{"t":"\\\\\\"},\\"id\\":8,{"},"id":7}`, response(7)],
    ['of a request', `{"id":7,"method":"a/b","params":{}}`, { kind: 'message', id: 7, hasMethod: true }],
    [
      'not, of a notification',
      `{"method":"a/b","params":{"id":7}}`,
      { kind: 'message', id: undefined, hasMethod: true },
    ],
    ['not, where it is null', `{"id":null,"error":{}}`, response(undefined)],
    ['not, where it is too long', `{"id":"${large}","result":{}}`, response(undefined)],
    ['not, behind very many members', `{${'"a":1,'.repeat(1000)}"id":7}`, response(undefined)],
    ['past nested texts, also where they are cut', `{"result":[["\\\\",{"a":"}]\\""}]],"id":7}`, response(7)],
    ['not, of a batch', `[{"id":7,"result":{}}]`, { kind: 'batch', id: undefined, hasMethod: false }],
    ['not, of what is no JSON', `log: {"id":7}`, { kind: 'other', id: undefined, hasMethod: false }],
    ['not, of nothing', '', { kind: 'other', id: undefined, hasMethod: false }],
  ])('%s', (_, text, expected) => {
    expect(skimmed(text)).toEqual(expected);
  });
});
