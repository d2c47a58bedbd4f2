import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { collidingNumbers } from './colliding-numbers.ts';

const MANY = 200_000;
const list = <T>(length: number, make: (index: number) => T): T[] => Array.from({ length }, (_, index) => make(index));
const named = (length: number, make: (index: number) => unknown): JsonObject =>
  Object.fromEntries(list(length, (index) => [`p${index}`, make(index)]));

/** Nested objects. */
function nest(depth: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 0;
  for (let level = 0; level < depth; level += 1) value = wrap(value);
  return value;
}

/** Each definition refers to the next one twice. */
function doubling(levels: number, combine: (schemas: JsonObject[]) => JsonObject): JsonObject {
  const $defs: JsonObject = { [`d${levels}`]: { type: 'string' } };
  for (let level = 0; level < levels; level += 1) {
    const next = { $ref: `#/$defs/d${level + 1}` };
    $defs[`d${level}`] = combine([next, { ...next }]);
  }
  return { $ref: '#/$defs/d0', $defs };
}

/** Its shortest text is half way to the next number, so V8 finds it only with numbers of many words. */
export const slowToWrite = (index: number): number => Number(`${4_611_686_019 + 2 * index}e9`);

const recursive = (keyword: string, of: unknown): JsonObject => ({ items: { $ref: '#' }, [keyword]: of });
const draft07 = (schema: JsonObject): JsonObject => ({ $schema: 'http://json-schema.org/draft-07/schema#', ...schema });
const text = 'a'.repeat(16_000_000);

/**
 * The most expensive checks of JSON Schema: for each keyword a schema and a value, each of which fits into a message.
 * They are created on demand, because together they are large.
 */
export const WORST_SCHEMAS: Readonly<Record<string, () => [schema: JsonObject, value: unknown]>> = {
  'uniqueItems of objects': () => [{ uniqueItems: true }, list(MANY, (id) => ({ id, b: [id] }))],
  'uniqueItems of large objects': () => [{ uniqueItems: true }, list(20, () => named(5000, (id) => ({ id })))],
  'uniqueItems of long strings': () => [{ uniqueItems: true }, list(16, (id) => text.slice(0, 1_000_000) + id)],
  'uniqueItems of numbers with one hash': () => [{ uniqueItems: true }, collidingNumbers(40_000)],
  'an enum of numbers with one hash': () => [{ enum: collidingNumbers(40_000) }, 1],
  'numbers that take long to write': () => [
    { allOf: list(8, (id) => ({ not: { contains: { const: id } } })) },
    list(MANY, slowToWrite),
  ],
  'lists of numbers that take long to write': () => [
    { allOf: list(8, (id) => ({ not: { const: [id] } })) },
    list(MANY, slowToWrite),
  ],
  'uniqueItems of short strings': () => [{ uniqueItems: true }, list(MANY * 6, (id) => `a${id}`)],
  'uniqueItems at each level': () => [
    recursive('uniqueItems', true),
    nest(400, (inner) => [inner, named(200, String)]),
  ],
  'a large enum for each item': () => [
    { items: { enum: list(20_000, (id) => ({ id })) } },
    list(MANY, (id) => ({ id: id + 1e6 })),
  ],
  'a large enum of strings': () => [{ items: { enum: list(100_000, String) } }, list(MANY, String)],
  'an enum that is too large': () => [{ enum: list(MANY * 5, (id) => [id]) }, 1],
  'a large const for each item': () => [
    { items: { anyOf: [{ const: named(1000, String) }, true] } },
    list(400, () => named(1000, String)),
  ],
  'long names with the same beginning': () => [
    { allOf: list(8, (id) => ({ not: { const: id } })) },
    Object.fromEntries(list(5000, (id) => [`${'字'.repeat(1000)}${(id * 7919) % 5000}`, id])),
  ],
  'many types': () => [{ items: { type: list(MANY, () => 'string') } }, list(MANY, String)],
  'allOf that doubles': () => [doubling(40, (allOf) => ({ allOf })), 'x'],
  'anyOf that doubles': () => [doubling(40, (anyOf) => ({ anyOf })), 5],
  'oneOf that doubles': () => [doubling(40, (oneOf) => ({ oneOf })), 'x'],
  'if that doubles': () => [doubling(40, ([one, other]) => ({ if: one, then: other })), 'x'],
  'not that doubles': () => [doubling(40, ([one, other]) => ({ not: one, anyOf: [other] })), 5],
  'prefixItems that double': () => [
    { $ref: '#/$defs/a', $defs: { a: { prefixItems: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }] } } },
    nest(18, (inner) => [inner, inner]),
  ],
  'allOf that doubles at each level': () => [
    { allOf: list(2, () => ({ items: { $ref: '#' } })) },
    nest(60, (one) => [one]),
  ],
  'anyOf that doubles at each level': () => [
    { anyOf: [...list(2, () => ({ items: { $ref: '#' }, minItems: 1 })), { type: 'string' }] },
    nest(60, (inner) => [inner]),
  ],
  'a schema that refers to itself': () => [{ allOf: [{ $ref: '#' }] }, 1],
  'a schema that refers to itself twice': () => [{ anyOf: [{ $ref: '#' }, { $ref: '#' }] }, 1],
  'oneOf with many branches': () => [{ items: { oneOf: list(2000, (id) => ({ minimum: id })) } }, list(MANY, () => 0)],
  'anyOf with many branches that report problems': () => [
    { items: { anyOf: [...list(2000, (id) => ({ properties: { a: { const: id } } })), true] } },
    list(MANY, () => ({ a: -1 })),
  ],
  '$dynamicRef through a deep scope': () => [
    {
      $id: 'https://a.example/0',
      $dynamicAnchor: 'node',
      items: { $ref: 'https://a.example/1' },
      $defs: { d: { $id: 'https://a.example/1', $dynamicAnchor: 'node', items: { $dynamicRef: '#node' } } },
    },
    nest(150, (inner) => [inner, ...list(400, () => [])]),
  ],
  unevaluatedProperties: () => [
    {
      anyOf: list(500, (id) => ({ properties: named(20, () => true), minProperties: id % 2 })),
      unevaluatedProperties: false,
    },
    named(20_000, (id) => id),
  ],
  'unevaluatedProperties at each level': () => [
    { additionalProperties: { $ref: '#' }, unevaluatedProperties: { $ref: '#' } },
    nest(200, (inner) => ({ inner, ...named(500, (id) => id) })),
  ],
  unevaluatedItems: () => [
    { allOf: list(200, () => ({ contains: { type: 'number' } })), unevaluatedItems: false },
    list(MANY, (id) => id),
  ],
  contains: () => [{ allOf: list(500, () => ({ contains: { const: 'no' }, minContains: 0 })) }, list(MANY, String)],
  'contains with bounds': () => [
    { contains: { type: 'number' }, minContains: MANY, maxContains: MANY },
    list(MANY, (id) => id),
  ],
  'a character class of many properties': () => [{ pattern: `[${'\\p{L}'.repeat(10_000)}]` }, 'x'],
  'many character classes of properties': () => [{ pattern: '[\\p{L}\\p{Script=Han}]?'.repeat(3000) }, 'x'],
  'a character class in the worst order': () => [
    { pattern: `[${list(25_000, (id) => String.fromCodePoint(0x1f000 - 2 * id)).join('')}]` },
    'x',
  ],
  'a reference of many steps': () => [{ $ref: `#${'/'.repeat(15_000_000)}` }, 1],
  'an id that is not plain ASCII': () => [{ $id: `http://${'é'.repeat(7_000_000)}` }, 1],
  patternProperties: () => [
    { patternProperties: Object.fromEntries(list(500, (id) => [`^(a|b|ab)*${id}$`, true])) },
    named(20_000, (id) => id),
  ],
  propertyNames: () => [
    { propertyNames: { anyOf: [...list(500, (id) => ({ const: `x${id}` })), true] } },
    named(20_000, (id) => id),
  ],
  dependentSchemas: () => [
    { dependentSchemas: named(300, () => ({ required: list(1000, (id) => `p${id}`) })) },
    named(3000, (id) => id),
  ],
  'required of each item': () => [
    { items: { anyOf: [{ required: list(5000, (id) => `p${4999 - id}`) }, true] } },
    list(MANY, () => ({ p4999: 1 })),
  ],
  'properties of each item': () => [{ items: { properties: named(5000, () => true) } }, list(MANY, () => ({}))],
  additionalProperties: () => [{ additionalProperties: { type: 'number' } }, named(MANY, (id) => id)],
  'sizes of a large object': () => [
    { allOf: list(500, () => ({ minProperties: 1, maxProperties: 1e9 })) },
    named(20_000, (id) => id),
  ],
  'lengths of a long string': () => [{ allOf: list(500, () => ({ minLength: 1, maxLength: 1e9 })) }, text],
  'multipleOf that fails in many branches': () => [
    { items: { anyOf: [...list(9900, (id) => ({ multipleOf: 1.000000000000123 + id * 9.7 })), true] } },
    list(240, () => 0.5),
  ],
  multipleOf: () => [{ items: { allOf: list(500, () => ({ multipleOf: 0.5 })) } }, list(MANY, () => 1e9)],
  'a pattern that backtracks': () => [{ pattern: '^(a+)+$' }, `${'a'.repeat(60)}b`],
  'a pattern that backtracks a little': () => [{ pattern: 'a*a*a*b$' }, text],
  'a pattern with counts': () => [{ pattern: '(a{1,500}){1,500}b' }, text],
  'a pattern that is too large': () => [{ pattern: '((a{1,1000}){1,1000}){1,1000}' }, 'a'],
  'a pattern with counts of nothing': () => [{ pattern: '((){65535}){65535}' }, 'a'],
  'a pattern with lookahead': () => [{ pattern: '(?=(a|aa)*b)' }, text],
  'a pattern with lookbehind': () => [{ pattern: '(?<=^(a|aa)*)b' }, text],
  'a pattern of sets': () => [{ pattern: '^[\\p{L}\\p{N}]*$' }, 'é'.repeat(8_000_000)],
  'many patterns': () => [{ allOf: list(9000, (id) => ({ pattern: `^[a-z\\p{L}]${id}` })) }, 'a'],
  'format and content': () => [{ items: { format: 'email', contentSchema: { type: 'string' } } }, list(MANY, String)],
  'a deep value': () => [recursive('type', ['array', 'number']), nest(200_000, (inner) => [inner])],
  'a deep value that is compared': () => [{ const: 1 }, nest(200_000, (inner) => ({ inner }))],
  'a deep value that must be unique': () => [{ uniqueItems: true }, [nest(200_000, (inner) => [inner]), 1]],
  'a deep schema': () => [nest(200_000, (inner) => ({ items: inner })) as JsonObject, 1],
  'a deep const': () => [{ const: nest(200_000, (inner) => [inner]) }, 1],
  'a wide schema': () => [{ anyOf: list(9999, (id) => ({ const: id })) }, -1],
  'a schema that is too wide': () => [{ anyOf: list(MANY, (id) => ({ const: id })) }, -1],
  'long URLs': () => [
    { $id: `https://a.example/${text.slice(0, 1_000_000)}/`, anyOf: list(5000, (id) => ({ $id: `${id}` })) },
    1,
  ],
  'long references': () => [{ anyOf: list(5000, () => ({ $ref: `#/$defs/${'a/'.repeat(1000)}` })) }, 1],
  'references to values that are not schemas': () => [
    {
      x: nest(60, (inner) => ({ items: inner })),
      anyOf: list(5000, (id) => ({ $ref: `#/x${'/items'.repeat(id % 60)}` })),
    },
    nest(60, (inner) => [inner]),
  ],
  'dependencies of draft-07': () => [
    draft07({ dependencies: named(300, () => list(1000, (id) => `p${id}`)) }),
    named(3000, (id) => id),
  ],
  'items of draft-07': () => [
    draft07({ items: list(5000, () => ({ type: 'number' })), additionalItems: { $ref: '#' } }),
    list(MANY, () => list(9, Number)),
  ],
};
