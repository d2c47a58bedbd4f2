import { Evaluated } from './evaluated.ts';
import { nodesOf, type Build } from './keyword.ts';
import type { Node } from './node.ts';

export const allOf: Build = (keywordValue, place) => {
  const nodes = nodesOf(keywordValue, place);
  return (value, run, seen) => nodes.every((node) => node.check(value, run, seen));
};

export const anyOf: Build = (keywordValue, place) => {
  const nodes = nodesOf(keywordValue, place);
  return (value, run, seen) => {
    const mark = run.mark;
    let valid = false;
    for (const node of nodes) {
      const own = seen && new Evaluated();
      if (!node.check(value, run, own)) continue;
      valid = true;
      if (!seen) break;
      seen.merge(own!, run.work);
    }
    if (!valid) return run.fail('must match a schema in anyOf');
    run.forget(mark);
    return true;
  };
};

export const oneOf: Build = (keywordValue, place) => {
  const nodes = nodesOf(keywordValue, place);
  return (value, run, seen) => {
    const mark = run.mark;
    let matched: Evaluated | undefined;
    let count = 0;
    for (const node of nodes) {
      const own = seen && new Evaluated();
      if (!node.check(value, run, own)) continue;
      matched = own;
      count += 1;
      if (count > 1) break;
    }
    if (count > 1) run.forget(mark);
    if (count !== 1) return run.fail('must match exactly one schema in oneOf');
    run.forget(mark);
    if (matched) seen!.merge(matched, run.work);
    return true;
  };
};

export const not: Build = (keywordValue, { keyword, base, reader }) => {
  const node = reader.node(keywordValue, keyword, base);
  return (value, run) => !run.quietly(() => node.check(value, run, undefined)) || run.fail('must NOT be valid');
};

export const conditional: Build = (keywordValue, { schema, base, reader }) => {
  const condition = reader.node(keywordValue, 'if', base);
  const branch = (keyword: string): Node | undefined =>
    schema[keyword] === undefined ? undefined : reader.node(schema[keyword], keyword, base);
  const met = branch('then');
  const unmet = branch('else');
  return (value, run, seen) => {
    const own = seen && new Evaluated();
    if (!run.quietly(() => condition.check(value, run, own))) return unmet?.check(value, run, seen) ?? true;
    seen?.merge(own!, run.work);
    return met?.check(value, run, seen) ?? true;
  };
};

export const reference: Build = (keywordValue, { keyword, base, reader }) => {
  if (typeof keywordValue !== 'string') throw new TypeError('$ref must be a string');
  const node = reader.referred(keywordValue, keyword, base);
  return (value, run, seen) => node.check(value, run, seen);
};

/** The outermost schema resource with such an anchor is used (2020-12 core, section 8.2.3.2). */
export const dynamicReference: Build = (keywordValue, { keyword, base, reader }) => {
  if (typeof keywordValue !== 'string') throw new TypeError('$dynamicRef must be a string');
  const node = reader.referred(keywordValue, keyword, base);
  const name = reader.dynamicName(keywordValue, base);
  if (name === undefined) return (value, run, seen) => node.check(value, run, seen);
  return (value, run, seen) => {
    for (const resource of run.scope) {
      run.work.take(1);
      const found = resource.dynamicAnchors.get(name);
      if (found) return reader.known(found).check(value, run, seen);
    }
    return node.check(value, run, seen);
  };
};
