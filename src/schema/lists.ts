import { keyOf, type Key } from './canonical.ts';
import { nodesOf, member, type Build } from './keyword.ts';
import type { Check, Node } from './node.ts';
import type { Run } from './run.ts';

export const uniqueItems: Build = (keywordValue) => {
  if (typeof keywordValue !== 'boolean') throw new TypeError('uniqueItems must be a boolean');
  if (!keywordValue) return undefined;
  return (value, run) => {
    if (!Array.isArray(value)) return true;
    const places = new Map<Key, number>();
    for (const [index, item] of value.entries()) {
      const key = keyOf(item, run.work);
      const other = places.get(key);
      if (other !== undefined) {
        return run.fail(() => `must NOT have duplicate items (${other} and ${index} are the same)`);
      }
      places.set(key, index);
    }
    return true;
  };
};

/** Checks the items from an index on, and stops at the first mistake. */
function each(node: Node, value: readonly unknown[], from: number, run: Run): boolean {
  for (let index = from; index < value.length; index += 1) {
    if (!member(node, value[index], index, run)) return false;
  }
  return true;
}

export const prefixItems: Build = (keywordValue, place) => {
  const nodes = nodesOf(keywordValue, place);
  return (value, run, seen) => {
    if (!Array.isArray(value)) return true;
    const count = Math.min(nodes.length, value.length);
    for (let index = 0; index < count; index += 1) if (!member(nodes[index]!, value[index], index, run)) return false;
    seen?.addFirst(count);
    return true;
  };
};

/** Checks all items after the first ones. Another keyword checks the first ones. */
function rest(node: Node, first: number, isNothing: boolean): Check {
  const message = `must NOT have more than ${first} items`;
  return (value, run, seen) => {
    if (!Array.isArray(value)) return true;
    if (isNothing) return value.length <= first || run.fail(message);
    if (!each(node, value, first, run)) return false;
    seen?.addAll();
    return true;
  };
}

export const itemsAfterPrefix: Build = (keywordValue, { keyword, schema, base, reader }) => {
  const prefix: unknown = schema['prefixItems'];
  return rest(
    reader.node(keywordValue, keyword, base),
    Array.isArray(prefix) ? prefix.length : 0,
    keywordValue === false,
  );
};

export const itemsOrTuple: Build = (keywordValue, place) => {
  return Array.isArray(keywordValue)
    ? prefixItems(keywordValue, place)
    : rest(place.reader.node(keywordValue, place.keyword, place.base), 0, keywordValue === false);
};

export const additionalItems: Build = (keywordValue, { keyword, schema, base, reader }) => {
  const tuple: unknown = schema['items'];
  const node = reader.node(keywordValue, keyword, base);
  return Array.isArray(tuple) ? rest(node, tuple.length, keywordValue === false) : undefined;
};

export const contains: Build = (keywordValue, { keyword, schema, base, reader }) => {
  const node = reader.node(keywordValue, keyword, base);
  const counted = reader.dialect === '2020-12';
  const min: unknown = (counted ? schema['minContains'] : undefined) ?? 1;
  const max: unknown = (counted ? schema['maxContains'] : undefined) ?? Infinity;
  if (typeof min !== 'number' || typeof max !== 'number') {
    throw new TypeError('minContains and maxContains must be numbers');
  }
  const message = `must contain at least ${min}${max === Infinity ? '' : ` and no more than ${max}`} valid item(s)`;
  return (value, run, seen) => {
    if (!Array.isArray(value)) return true;
    let count = 0;
    const enough = seen ? Infinity : max === Infinity ? min : max + 1;
    run.quietly(() => {
      for (let index = 0; index < value.length && count < enough; index += 1) {
        if (!node.check(value[index], run, undefined)) continue;
        count += 1;
        seen?.add(index, run.work);
      }
    });
    return (count >= min && count <= max) || run.fail(message);
  };
};

export const unevaluatedItems: Build = (keywordValue, { keyword, base, reader }) => {
  const node = reader.node(keywordValue, keyword, base);
  return (value, run, seen) => {
    if (!Array.isArray(value)) return true;
    for (const [index, item] of value.entries()) {
      run.work.take(1);
      if (seen!.has(index)) continue;
      if (keywordValue === false) return run.fail(() => `must NOT have item ${index}`);
      if (!member(node, item, index, run)) return false;
    }
    seen!.addAll();
    return true;
  };
};
