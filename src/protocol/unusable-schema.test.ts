import { expect, test } from 'vitest';
import type { JsonObject } from '../jsonrpc/message.ts';
import { subschemasOf } from './subschemas.ts';
import { refuseUnusable } from './unusable-schema.ts';

const check = (schema: JsonObject) => () => refuseUnusable(subschemasOf(schema, 'It'), 'It');

test.each<[JsonObject, string]>([
  [{ pattern: '(' }, 'It: pattern is no regular expression'],
  [{ pattern: '\\_' }, 'It: pattern is no regular expression'],
  [{ pattern: 7 }, 'It: pattern must be a string that is a regular expression'],
  [{ properties: { a: { items: { pattern: '[' } } } }, 'It: properties.a.items.pattern is no regular expression'],
  [{ patternProperties: { '*': {} } }, 'It: patternProperties is no regular expression'],
  [{ $ref: '#/$defs/a' }, 'It refers to "#/$defs/a" ($ref), where there is no schema'],
  [{ $defs: { a: {} }, properties: { x: { $ref: '#/$defs/b' } } }, 'It refers to "#/$defs/b" (properties.x.$ref)'],
  [{ $defs: {}, $ref: '#/$defs/constructor' }, 'where there is no schema'],
  [{ $defs: { a: 7 }, $ref: '#/$defs/a' }, 'where there is no schema'],
  [{ $ref: '#a' }, 'where there is no schema'],
  [{ $ref: '#/%' }, 'where there is no schema'],
  [{ $dynamicRef: '#node' }, 'It refers to "#node" ($dynamicRef)'],
])('%j is refused', (schema, said) => {
  expect(check(schema)).toThrow(TypeError);
  expect(check(schema)).toThrow(said);
});

test.each<[JsonObject]>([
  [{ pattern: '^\\p{Lu}+$', patternProperties: { '^x-': true } }],
  [{ properties: { child: { $ref: '#' } } }],
  [{ $defs: { 'a/b~c d': {} }, $ref: '#/$defs/a~1b~0c%20d' }],
  [{ $defs: { a: true }, $ref: '#/$defs/a' }],
  [{ anyOf: [{}, { $ref: '#/anyOf/0' }] }],
  [{ $defs: { a: { $anchor: 'here' } }, $ref: '#here' }],
  [{ $dynamicAnchor: 'node', items: { $dynamicRef: '#node' } }],
  [{ definitions: { a: { $id: '#here' } }, $ref: '#here' }],
  [{ $defs: { a: { $id: 'https://a.example/', $ref: '#/$defs/b', $defs: { b: {} } } } }],
  [{ default: { pattern: '(', $ref: '#/nowhere' }, properties: { pattern: { type: 'string' } } }],
])('%j is taken', (schema) => {
  expect(check(schema)).not.toThrow();
});
