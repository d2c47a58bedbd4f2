import { quoting } from '../base/short-text.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { namedNodes, namesOf, patternOf, member, keysOf, has, type Build } from './keyword.ts';
import type { Evaluated } from './evaluated.ts';
import type { Check, Node } from './node.ts';
import type { Run } from './run.ts';

/** A check of each member of an object. Values that are not objects are valid. */
function eachMember(check: (key: string, value: JsonObject, run: Run, seen: Evaluated | undefined) => boolean): Check {
  return (value, run, seen) => {
    if (!isObject(value)) return true;
    for (const key of keysOf(value, run)) if (!check(key, value, run, seen)) return false;
    return true;
  };
}

/** Checks a member by a schema. If it is valid, the member counts as evaluated. */
function evaluate(node: Node, key: string, value: JsonObject, run: Run, seen: Evaluated | undefined): boolean {
  if (!member(node, value[key], key, run)) return false;
  seen?.add(key, run.work);
  return true;
}

export const propertiesByName: Build = (keywordValue, place) => {
  const nodes = new Map(namedNodes(keywordValue, place));
  return eachMember((key, value, run, seen) => {
    const node = nodes.get(key);
    return !node || value[key] === undefined || evaluate(node, key, value, run, seen);
  });
};

export const patternProperties: Build = (keywordValue, place) => {
  const nodes = namedNodes(keywordValue, place).map(([source, node]) => {
    return { pattern: patternOf(source, 'patternProperties', place.reader), node };
  });
  return eachMember((key, value, run, seen) =>
    nodes.every(({ pattern, node }) => !pattern.test(key, run.work) || evaluate(node, key, value, run, seen)),
  );
};

export const additionalProperties: Build = (keywordValue, { keyword, schema, base, reader }) => {
  const node = reader.node(keywordValue, keyword, base);
  const named = new Set(isObject(schema['properties']) ? Object.keys(schema['properties']) : []);
  const patterned = isObject(schema['patternProperties'])
    ? Object.keys(schema['patternProperties']).map((source) => patternOf(source, 'patternProperties', reader))
    : [];
  return eachMember((key, value, run, seen) => {
    if (named.has(key) || patterned.some((pattern) => pattern.test(key, run.work))) return true;
    if (keywordValue === false) return run.fail('is not expected', key);
    return evaluate(node, key, value, run, seen);
  });
};

export const propertyNames: Build = (keywordValue, { keyword, base, reader }) => {
  const node = reader.node(keywordValue, keyword, base);
  return eachMember(
    (key, _, run) =>
      run.quietly(() => node.check(key, run, undefined)) || run.fail('has a name that is not valid', key),
  );
};

export const unevaluatedProperties: Build = (keywordValue, { keyword, base, reader }) => {
  const node = reader.node(keywordValue, keyword, base);
  return (value, run, seen) => {
    if (!isObject(value)) return true;
    for (const key of keysOf(value, run)) {
      if (seen!.has(key)) continue;
      if (keywordValue === false) return run.fail('is not expected', key);
      if (!member(node, value[key], key, run)) return false;
    }
    seen!.addAll();
    return true;
  };
};

function missing(value: JsonObject, names: readonly string[], run: Run): string | undefined {
  run.work.take(8 * names.length);
  return names.find((name) => !has(value, name));
}

export const required: Build = (keywordValue, place) => {
  const names = namesOf(keywordValue, place);
  return (value, run) => {
    if (!isObject(value)) return true;
    const absent = missing(value, names, run);
    return absent === undefined || run.fail('is missing', absent);
  };
};

/**
 * Compiles a keyword with rules for objects that have a certain property: the other properties that they must have, or
 * the schema that they must match.
 */
export const dependent: Build = (keywordValue, place) => {
  if (!isObject(keywordValue)) throw new TypeError(`${place.keyword} must be an object`);
  const lists: [string, string[]][] = [];
  const nodes: [string, Node][] = [];
  for (const [name, one] of Object.entries<unknown>(keywordValue)) {
    if (Array.isArray(one)) lists.push([name, namesOf(one, place)]);
    else nodes.push([name, place.reader.node(one, place.keyword, place.base)]);
  }
  return (value, run, seen) => {
    if (!isObject(value)) return true;
    run.work.take(8 * (lists.length + nodes.length));
    for (const [name, names] of lists) {
      if (!has(value, name)) continue;
      const absent = missing(value, names, run);
      if (absent !== undefined) return run.fail(() => quoting`is missing, although ${name} is present`, absent);
    }
    return nodes.every(([name, node]) => !has(value, name) || node.check(value, run, seen));
  };
};
