import { isObject, isStrings, type JsonObject } from '../jsonrpc/message.ts';
import type { Check, Node } from './node.ts';
import { Pattern } from './pattern.ts';
import type { Run } from './run.ts';
import type { Work } from './work.ts';

export type Dialect = '2020-12' | 'draft-07';

/** Gives a keyword access to the schema around it. */
export interface SchemaReader {
  readonly dialect: Dialect;
  readonly work: Work;
  /** The node of a schema. @throws TypeError if it is not a schema. */
  node(schema: unknown, keyword: string, base: string): Node;
  /** The schema that a reference points to. @throws TypeError if there is none. */
  referred(reference: string, keyword: string, base: string): Node;
  /** The anchor that `$dynamicRef` looks up in the dynamic scope. Undefined if the reference works like `$ref`. */
  dynamicName(reference: string, base: string): string | undefined;
  /** The node of a schema that was read before. */
  known(schema: JsonObject): Node;
}

/** The location of a keyword. */
interface Place {
  readonly keyword: string;
  readonly schema: JsonObject;
  readonly base: string;
  readonly reader: SchemaReader;
}

/**
 * Compiles the value of a keyword to a check. Undefined if it restricts nothing. @throws TypeError if the value is
 * invalid.
 */
export type Build = (keywordValue: unknown, place: Place) => Check | undefined;

export interface Keyword {
  readonly keyword: string;
  readonly build: Build;
  /** Its place in the order of checks. */
  readonly order: number;
}

export function nodesOf(keywordValue: unknown, { keyword, base, reader }: Place): Node[] {
  if (!Array.isArray(keywordValue)) throw new TypeError(`${keyword} must be a list of schemas`);
  return keywordValue.map((one) => reader.node(one, keyword, base));
}

export function namedNodes(keywordValue: unknown, { keyword, base, reader }: Place): [string, Node][] {
  if (!isObject(keywordValue)) throw new TypeError(`${keyword} must be an object`);
  return Object.entries<unknown>(keywordValue).map(([name, one]) => [name, reader.node(one, keyword, base)]);
}

export function namesOf(keywordValue: unknown, { keyword, reader }: Place): string[] {
  if (!isStrings(keywordValue)) throw new TypeError(`${keyword} must be a list of strings`);
  reader.work.take(4 * keywordValue.length);
  return keywordValue;
}

export function patternOf(source: string, keyword: string, { work }: SchemaReader): Pattern {
  try {
    return new Pattern(source, work);
  } catch (error) {
    if (error instanceof TypeError) throw new TypeError(`${keyword} ${error.message}`, { cause: error });
    throw error;
  }
}

export function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

/** Checks a member of the value that is being checked. */
export function member(node: Node, value: unknown, key: string | number, run: Run): boolean {
  run.path.push(key);
  const valid = node.check(value, run, undefined);
  run.path.pop();
  return valid;
}

/** The names of an object's members. */
export function keysOf(value: object, { work }: Run): string[] {
  const keys = Object.keys(value);
  work.take(5 + 8 * keys.length);
  return keys;
}

/** Whether an object has a member. Inherited members, and members that JSON would omit, do not count. */
export function has(value: JsonObject, key: string): boolean {
  return value[key] !== undefined && Object.hasOwn(value, key);
}
