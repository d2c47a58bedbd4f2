import { allOf, anyOf, oneOf, not, conditional, reference, dynamicReference } from './combining.ts';
import type { Dialect, Build, Keyword } from './keyword.ts';
import {
  uniqueItems,
  prefixItems,
  itemsAfterPrefix,
  itemsOrTuple,
  additionalItems,
  contains,
  unevaluatedItems,
} from './lists.ts';
import {
  propertiesByName,
  patternProperties,
  additionalProperties,
  propertyNames,
  unevaluatedProperties,
  required,
  dependent,
} from './objects.ts';
import {
  type,
  constant,
  enumeration,
  bound,
  multipleOf,
  characters,
  items,
  properties,
  pattern,
  least,
  most,
} from './scalars.ts';

function inOrder(keywords: readonly (readonly [string, Build])[]): Map<string, Keyword> {
  return new Map(keywords.map(([keyword, build], order) => [keyword, { keyword, build, order }]));
}

/** In the order in which they are checked: first what is cheap and explains a mistake best. */
const COMMON: readonly (readonly [string, Build])[] = [
  ['type', type],
  ['const', constant],
  ['enum', enumeration],
  ['maximum', bound((value, limit) => value <= limit, '<=')],
  ['minimum', bound((value, limit) => value >= limit, '>=')],
  ['exclusiveMaximum', bound((value, limit) => value < limit, '<')],
  ['exclusiveMinimum', bound((value, limit) => value > limit, '>')],
  ['multipleOf', multipleOf],
  ['maxLength', most(characters, 'characters')],
  ['minLength', least(characters, 'characters')],
  ['pattern', pattern],
  ['maxItems', most(items, 'items')],
  ['minItems', least(items, 'items')],
  ['maxProperties', most(properties, 'properties')],
  ['minProperties', least(properties, 'properties')],
  ['required', required],
  ['dependencies', dependent],
  ['propertyNames', propertyNames],
  ['additionalProperties', additionalProperties],
  ['properties', propertiesByName],
  ['patternProperties', patternProperties],
  ['contains', contains],
  ['uniqueItems', uniqueItems],
  ['$ref', reference],
  ['not', not],
  ['allOf', allOf],
  ['anyOf', anyOf],
  ['oneOf', oneOf],
  ['if', conditional],
];

/** By dialect and name. */
export const KEYWORDS: Readonly<Record<Dialect, ReadonlyMap<string, Keyword>>> = {
  'draft-07': inOrder([...COMMON, ['items', itemsOrTuple], ['additionalItems', additionalItems]]),
  '2020-12': inOrder([
    ...COMMON,
    ['prefixItems', prefixItems],
    ['items', itemsAfterPrefix],
    ['dependentRequired', dependent],
    ['dependentSchemas', dependent],
    ['$dynamicRef', dynamicReference],
    // Last, because they depend on what all others evaluated.
    ['unevaluatedItems', unevaluatedItems],
    ['unevaluatedProperties', unevaluatedProperties],
  ]),
};
