import { describe, expect, test } from 'vitest';
import { MessageSkim, type Envelope } from './skim.ts';

const large = 'x'.repeat(100_000);

/** What is found in a text, read at once and byte by byte. */
function skimmed(text: string): Envelope {
  const bytes = Buffer.from(text);
  const whole = new MessageSkim();
  whole.push(bytes);
  const parts = new MessageSkim();
  for (let at = 0; at < bytes.length; at += 7) parts.push(bytes.subarray(at, at + 7));
  expect(parts.envelope).toEqual(whole.envelope);
  return whole.envelope;
}

const response = (id: Envelope['id']): Partial<Envelope> => ({ kind: 'message', id, hasMethod: false });

describe('the id of a skipped message', () => {
  test.each<[string, string, Partial<Envelope>]>([
    [
      'is found before the result',
      `{"jsonrpc":"2.0","id":7,"result":{"id":8,"a":[{"id":9}],"text":"${large}"}}`,
      response(7),
    ],
    ['is found after the result', `{"result":{"text":"${large}","id":8},"jsonrpc":"2.0","id":7}`, response(7)],
    ['is found between spaces', ` { "id" : 7 , "result" : { } } `, response(7)],
    ['is found if it is a string', `{"id":"a\\"b","result":{}}`, response('a"b')],
    ['is found if its name is escaped', `{"\\u0069d":7,"result":{}}`, response(7)],
    ['is found after strings that look like members', `{"result":{"t":"\\\\\\"},\\"id\\":8,{"},"id":7}`, response(7)],
    ['is found in a request', `{"id":7,"method":"a/b","params":{}}`, { kind: 'message', id: 7, hasMethod: true }],
    [
      'is not found in a notification',
      `{"method":"a/b","params":{"id":7}}`,
      { kind: 'message', id: undefined, hasMethod: true },
    ],
    ['is not found if it is null', `{"id":null,"error":{}}`, response(undefined)],
    ['is not found if it is too long', `{"id":"${large}","result":{}}`, response(undefined)],
    ['is found after very many members', `{${'"a":1,'.repeat(1000)}"id":7}`, response(7)],
    [
      'is found after nested strings, even if the text is split in them',
      `{"result":[["\\\\",{"a":"}]\\""}]],"id":7}`,
      response(7),
    ],
    ['is not found in a batch', `[{"id":7,"result":{}}]`, { kind: 'batch', id: undefined, hasMethod: false }],
    ['is not found in text that is not JSON', `log: {"id":7}`, { kind: 'other', id: undefined, hasMethod: false }],
    ['is not found in an empty text', '', { kind: 'other', id: undefined, hasMethod: false }],
  ])('%s', (_, text, expected) => {
    expect(skimmed(text)).toMatchObject(expected);
  });
});

describe('a skim tells of a message', () => {
  test.each<[string, string, Partial<Envelope>]>([
    ['which method it has', '{"method":"tools/call","id":1}', { method: 'tools/call' }],
    ['which method it has, written with escapes', '{"method":"tools\\/c\\u0061ll"}', { method: 'tools/call' }],
    ['which method it has, in UTF-8', '{"method":"Grüße"}', { method: 'Grüße' }],
    ['that it has a method that is too long', `{"method":"${large}"}`, { hasMethod: true, method: undefined }],
    ['that its method is not a string', '{"method":7}', { hasMethod: true, method: undefined }],
    ['that it has a result', '{"id":1,"result":{}}', { outcome: 'result', method: undefined }],
    ['that it has an error', '{"id":1,"error":{"code":1}}', { outcome: 'error' }],
    ['that it has neither', '{"method":"a","params":{"result":1}}', { outcome: undefined }],
    ['that it has an id that is too long', `{"id":"${large}","method":"a"}`, { hasId: true, id: undefined }],
    ['that it has an id that a double cannot hold', '{"id":12345678901234567890}', { hasId: true, id: undefined }],
    ['that it has no id', '{"method":"a","params":{"id":1}}', { hasId: false }],
    ['that it is whole', ' {"a":[{}],"b":"}"} \r\n', { whole: true }],
    ['that it is not whole', '{"a":[{}]', { whole: false }],
    ['that its end is inside a string', '{"a":"}', { whole: false }],
    ['that something follows it', '{} x', { whole: false }],
    ['that a text is not a message', '7', { whole: false }],
    ['that a batch is of objects', ' [ {"method":"a"}, 1 ]', { kind: 'batch', whole: true, ofObjects: true }],
    ['that a word in brackets is no batch of objects', '[info]', { kind: 'batch', whole: true, ofObjects: false }],
    ['that an object is no batch', '{"a":{}}', { ofObjects: false }],
  ])('%s', (_, text, expected) => {
    expect(skimmed(text)).toMatchObject(expected);
  });
});
