import * as combining from './combining.ts';
import type { Dialect, Build, Keyword } from './keyword.ts';
import * as lists from './lists.ts';
import * as objects from './objects.ts';
import * as scalars from './scalars.ts';

function inOrder(keywords: readonly (readonly [string, Build])[]): Map<string, Keyword> {
  return new Map(keywords.map(([keyword, build], order) => [keyword, { keyword, build, order }]));
}

/** In the order in which they are checked: first those that are cheap and have the clearest error messages. */
const COMMON: readonly (readonly [string, Build])[] = [
  ['type', scalars.type],
  ['const', scalars.constant],
  ['enum', scalars.enumeration],
  ['maximum', scalars.bound((value, limit) => value <= limit, '<=')],
  ['minimum', scalars.bound((value, limit) => value >= limit, '>=')],
  ['exclusiveMaximum', scalars.bound((value, limit) => value < limit, '<')],
  ['exclusiveMinimum', scalars.bound((value, limit) => value > limit, '>')],
  ['multipleOf', scalars.multipleOf],
  ['maxLength', scalars.most(scalars.characters, 'characters')],
  ['minLength', scalars.least(scalars.characters, 'characters')],
  ['pattern', scalars.pattern],
  ['maxItems', scalars.most(scalars.items, 'items')],
  ['minItems', scalars.least(scalars.items, 'items')],
  ['maxProperties', scalars.most(scalars.properties, 'properties')],
  ['minProperties', scalars.least(scalars.properties, 'properties')],
  ['required', objects.required],
  ['dependencies', objects.dependent],
  ['propertyNames', objects.propertyNames],
  ['additionalProperties', objects.additionalProperties],
  ['properties', objects.propertiesByName],
  ['patternProperties', objects.patternProperties],
  ['contains', lists.contains],
  ['uniqueItems', lists.uniqueItems],
  ['$ref', combining.reference],
  ['not', combining.not],
  ['allOf', combining.allOf],
  ['anyOf', combining.anyOf],
  ['oneOf', combining.oneOf],
  ['if', combining.conditional],
];

/** By dialect and name. */
export const KEYWORDS: Readonly<Record<Dialect, ReadonlyMap<string, Keyword>>> = {
  'draft-07': inOrder([...COMMON, ['items', lists.itemsOrTuple], ['additionalItems', lists.additionalItems]]),
  '2020-12': inOrder([
    ...COMMON,
    ['prefixItems', lists.prefixItems],
    ['items', lists.itemsAfterPrefix],
    ['dependentRequired', objects.dependent],
    ['dependentSchemas', objects.dependent],
    ['$dynamicRef', combining.dynamicReference],
    // Last, because they depend on what all others evaluated.
    ['unevaluatedItems', lists.unevaluatedItems],
    ['unevaluatedProperties', objects.unevaluatedProperties],
  ]),
};
