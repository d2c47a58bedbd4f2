import { expect, test } from 'vitest';
import { isEntry } from './is-entry.ts';
import type { TableName } from './table.ts';

const EVENT = '["a\\"[,",0,1792000000000.5,200,200]';
const STREAM = '{"first":1,"ended":false}';
const PLACE = '[1792000000000,20,0,"x"]';
const TASK = '{"runner":"one","bytes":2,"terminal":true,"until":null}';
const LARGEST = '999999999999';

test.each<[TableName, key: string, text: string]>([
  ['events', 'one/000000000001', EVENT],
  ['events', `a%20b/${LARGEST}`, EVENT.replace(']', ',{"jsonrpc":"2.0","method":"m"}]')],
  ['streams', 'one/a/b', STREAM],
  ['streams', 'one/', `{"first":1,"ended":true,"requests":[1,"x"],"last":${LARGEST}}`],
  ['places', 'one', PLACE],
  ['sessions', 'one', '{"initialize":{}}'],
  ['settings', 'one', '{"logLevel":"error"}'],
  ['tasks', 'one', `${TASK}\n{"id":"one"}`],
  ['tasks', 'one', `${TASK.replace('null', '1792000000000')}\n{"id":"one"}`],
])('an entry of %s: %s: %s', (name, key, text) => {
  expect(isEntry(name, key, text)).toBe(true);
});

test.each<[TableName, key: string, text: string]>([
  ['events', '{/000000000001', EVENT],
  ['events', 'one', EVENT],
  ['events', 'one/5', EVENT],
  ['events', 'one/00000000000x', EVENT],
  ['events', `one/${2 ** 53}`, EVENT],
  ['events', 'one/000000000001', '5'],
  ['events', 'one/000000000001', EVENT.replace('0', '"0"')],
  ['events', 'one/000000000001', EVENT.replace(',200', '')],
  ['streams', '{/a', STREAM],
  ['streams', 'one', STREAM],
  ['streams', 'one/a', 'null'],
  ['streams', 'one/a', '{'],
  ['streams', 'one/a', STREAM.replace('1', '0.5')],
  ['streams', 'one/a', STREAM.replace('1', '-1')],
  ['streams', 'one/a', STREAM.replace('false', '0')],
  ['streams', 'one/a', STREAM.replace('}', ',"last":1e300}')],
  ['streams', 'one/a', STREAM.replace('}', ',"requests":5}')],
  ['places', '%', PLACE],
  ['places', '%6Fne', PLACE],
  ['places', 'one', 'null'],
  ['places', 'one', PLACE.replace('20', '"20"')],
  ['places', 'one', PLACE.replace('"x"', '5')],
  ['places', 'one', PLACE.replace(']', ',5]')],
  ['sessions', 'one', '{'],
  ['sessions', 'one', 'null'],
  ['settings', 'one', '[]'],
  ['tasks', 'one', '{}'],
  ['tasks', 'one', `null\n{}`],
  ['tasks', 'one', `${TASK.replace('"one"', '1')}\n{}`],
  ['tasks', 'one', `${TASK.replace('2', '"2"')}\n{}`],
  ['tasks', 'one', `${TASK.replace('true', '1')}\n{}`],
  ['tasks', 'one', `${TASK.replace('null', '"x"')}\n{}`],
])('no entry of %s: %s: %s', (name, key, text) => {
  expect(isEntry(name, key, text)).toBe(false);
});
