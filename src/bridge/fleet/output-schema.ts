import { isObject, isStrings, type JsonObject } from '../../jsonrpc/message.ts';
import { without } from '../../jsonrpc/shape.ts';
import { checkExpression } from '../../schema/pattern.ts';
import { TooMuchWork, Work } from '../../schema/work.ts';
import type { Shape } from './shapes.ts';

/*
 * The official client 1.x compiles the output schemas of all tools when it reads their list, with Ajv for draft-07 and without a
 * meta-schema. If it cannot compile one, it refuses the whole list. It finds schemas by their `$id` again, also those of other servers.
 * So this checks what a schema of any dialect needs there. Some of it no dialect requires: these schemas are left out, too.
 */

/** How many steps a check may take: less than 50 ms. */
const MAX_STEPS = 1_000_000;
/** How many schemas may be compiled. The client takes about 1 ms for each, and repeats those without references at each reference. */
const MAX_SCHEMAS = 10_000;
/** How deep they may be nested, also through references. From 430 on, the client's stack can overflow. */
const MAX_LEVELS = 200;

const TYPES: ReadonlySet<unknown> = new Set(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']);

interface Form {
  readonly expected: string;
  readonly fits: (value: unknown) => boolean;
  /** The schemas in a value that fits, by their keys. */
  readonly schemas?: (value: any) => [key: string, schema: unknown][];
}

const number: Form = { expected: 'a number', fits: Number.isFinite };
const text: Form = { expected: 'a string', fits: (value) => typeof value === 'string' };
const flag: Form = { expected: 'true or false', fits: (value) => typeof value === 'boolean' };
const names: Form = { expected: 'a list of strings', fits: isStrings };
const values: Form = { expected: 'a list with values', fits: (value) => Array.isArray(value) && value.length > 0 };
const types: Form = {
  expected: 'a type, or a list of types',
  fits: (value) => [value].flat().every((type) => TYPES.has(type)),
};
const schema: Form = { expected: 'a schema', fits: () => true, schemas: (value) => [['', value]] };
const schemas: Form = { expected: 'a list of schemas', fits: Array.isArray, schemas: Object.entries };
const items: Form = { ...schema, schemas: (value) => (Array.isArray(value) ? Object.entries(value) : [['', value]]) };
const named: Form = { expected: 'an object', fits: isObject, schemas: Object.entries };
const dependent: Form = {
  ...named,
  schemas: (value) => Object.entries(value).filter(([, each]) => !isStrings(each)),
};
const absent: Form = { expected: 'absent, because some clients do not accept it', fits: () => false };

/** The keywords of draft-07, and those that Ajv adds. */
const KEYWORDS: ReadonlyMap<string, Form> = new Map([
  ...all(number, 'maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum', 'multipleOf', 'maxLength', 'minLength'),
  ...all(number, 'maxItems', 'minItems', 'maxProperties', 'minProperties'),
  ...all(text, '$ref', 'format', 'pattern'),
  ...all(flag, 'nullable', 'uniqueItems'),
  ...all(schema, 'additionalItems', 'additionalProperties', 'contains', 'else', 'if', 'not', 'propertyNames', 'then'),
  ...all(schemas, 'allOf', 'anyOf', 'oneOf'),
  ...all(named, 'patternProperties', 'properties'),
  ...all(absent, '$async', '$id', 'id'),
  ...all(absent, 'formatExclusiveMaximum', 'formatExclusiveMinimum', 'formatMaximum', 'formatMinimum'),
  ...[['required', names] as const, ['enum', values] as const, ['type', types] as const],
  ...[['items', items] as const, ['dependencies', dependent] as const],
]);

function all(form: Form, ...keywords: readonly string[]): (readonly [string, Form])[] {
  return keywords.map((keyword) => [keyword, form]);
}

/** Names of schemas. Those of several servers could clash. */
const NAMES: ReadonlySet<string> = new Set(['$id', '$anchor', '$dynamicAnchor']);
/** Keywords whose value has schemas by names that are not keywords. */
const BY_NAME: ReadonlySet<string> = new Set([
  '$defs',
  'definitions',
  'dependencies',
  'patternProperties',
  'properties',
]);
/** Keywords whose value can look like a schema. */
const DATA: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples']);

/** Output schemas of a shape that each client can compile, without their `$id`. */
export function compilable(shape: Shape): Shape {
  return (value, mistakes) => {
    const valid = shape(value, mistakes);
    if (!isObject(valid)) return undefined;
    try {
      new Compilation(valid).check();
      return without(valid, ['$id']);
    } catch (error) {
      if (error instanceof TooMuchWork) return mistakes.add(error.message);
      if (!(error instanceof Uncompilable)) throw error;
      const { where, message } = error;
      return where === '' ? mistakes.add(message) : mistakes.within(where, () => mistakes.add(message), value);
    }
  };
}

/** The message continues the place. */
class Uncompilable extends Error {
  readonly where: string;

  constructor(message: string, where = '') {
    super(message);
    this.where = where.replace(/^\./, '');
  }
}

/** A schema that is compiled separately: the root, or one with a reference to it. */
interface Unit {
  readonly where: string;
  /** How many references lead to it. */
  uses: number;
  /** How many schemas it has, itself included. */
  size: number;
  levels: number;
  hasReferences: boolean;
}

class Compilation {
  readonly #root: JsonObject;
  readonly #work = new Work(MAX_STEPS);
  readonly #units = new Map<unknown, Unit>();

  constructor(root: JsonObject) {
    this.#root = root;
  }

  /** @throws Uncompilable or TooMuchWork. */
  check(): void {
    this.#checkNames(this.#root, false);
    this.#use(this.#root, '');
    // More units are added meanwhile.
    for (const [root, unit] of this.#units) this.#checkSchema(root, unit, unit.where, 1);
    const units = [...this.#units.values()];
    const size = units.reduce((sum, unit) => sum + unit.size * (unit.hasReferences ? 1 : unit.uses), 0);
    const levels = units.reduce((sum, unit) => sum + (unit.hasReferences ? unit.levels : 0), 0);
    const last = Math.max(...units.map((unit) => (unit.hasReferences ? 0 : unit.levels)));
    if (size > MAX_SCHEMAS)
      throw new Uncompilable(`has more than ${MAX_SCHEMAS} schemas, with those behind references`);
    if (levels + last > MAX_LEVELS) throw tooDeep();
  }

  /** Ajv searches unknown keywords, too. */
  #checkNames(value: unknown, isByName: boolean): void {
    if (typeof value !== 'object' || value === null) return;
    const keys = Object.keys(value);
    this.#work.take(10 + 10 * keys.length);
    for (const key of keys) {
      const one: unknown = (value as JsonObject)[key];
      if (!isByName && value !== this.#root && NAMES.has(key) && typeof one === 'string')
        throw new Uncompilable(`has a subschema with ${key}, which could clash with one of another server`);
      if (isByName || !DATA.has(key)) this.#checkNames(one, !isByName && BY_NAME.has(key));
    }
  }

  #checkSchema(value: unknown, unit: Unit, where: string, level: number): void {
    if (level > MAX_LEVELS) throw tooDeep();
    unit.size += 1;
    unit.levels = Math.max(unit.levels, level);
    if (typeof value === 'boolean') return;
    if (!isObject(value)) throw malformed(where, 'a schema');
    const keys = Object.keys(value);
    this.#work.take(40 + 10 * keys.length);
    for (const keyword of keys) {
      const form = KEYWORDS.get(keyword);
      if (!form || (keyword === '$id' && value === this.#root)) continue;
      const one: unknown = value[keyword];
      const place = `${where}.${keyword}`;
      if (Array.isArray(one)) this.#work.take(10 * one.length);
      if (!form.fits(one)) throw malformed(place, form.expected);
      const inner = form.schemas?.(one) ?? [];
      for (const [key, each] of inner) this.#checkSchema(each, unit, key === '' ? place : `${place}.${key}`, level + 1);
      if (keyword === '$ref') this.#refer(one as string, unit, place);
      else if (keyword === 'pattern') this.#checkPattern(one as string, place);
      else if (keyword === 'patternProperties')
        for (const pattern of Object.keys(one as JsonObject)) this.#checkPattern(pattern, place);
    }
    checkNullable(value, where);
  }

  #checkPattern(pattern: string, where: string): void {
    try {
      checkExpression(pattern, this.#work);
    } catch (error) {
      if (error instanceof TypeError) throw new Uncompilable(error.message, where);
      throw error;
    }
  }

  /** Only pointers within the schema are known to lead somewhere. */
  #refer(reference: string, unit: Unit, where: string): void {
    unit.hasReferences = true;
    let target = this.#find(reference);
    if (typeof target === 'boolean') return;
    this.#use(target, reference);
    // A chain of references must end: Ajv follows it at once.
    for (let count = 0; isObject(target) && target['$ref'] !== undefined; count += 1) {
      if (count === MAX_LEVELS) throw new Uncompilable('leads back to itself', where);
      target = this.#find(target['$ref']);
    }
    if (!isObject(target) && typeof target !== 'boolean') throw malformed(where, 'a reference to a schema in this one');
  }

  #use(root: unknown, where: string): void {
    const unit = this.#units.get(root);
    if (unit) unit.uses += 1;
    else this.#units.set(root, { where, uses: 1, size: 0, levels: 0, hasReferences: false });
  }

  /** What is at a JSON pointer in a fragment (RFC 6901, section 6). Undefined if it leads nowhere. */
  #find(reference: unknown): unknown {
    if (typeof reference !== 'string') return undefined;
    this.#work.take(10 + reference.length);
    if (reference === '#') return this.#root;
    if (!reference.startsWith('#/')) return undefined;
    let at: unknown = this.#root;
    try {
      for (const part of reference.slice(2).split('/')) {
        const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
        if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
        at = (at as JsonObject)[key];
        // Ajv takes it for the name of a schema.
        if (isObject(at) && at['$id'] !== undefined) return undefined;
      }
    } catch {
      // It has a "%" that encodes nothing.
      return undefined;
    }
    return at;
  }
}

/** `nullable` is from OpenAPI, where it needs a type. */
function checkNullable({ nullable, type }: JsonObject, where: string): void {
  if (nullable === undefined) return;
  const known: unknown[] = type === undefined ? [] : [type].flat();
  if (known.length === 0) throw malformed(`${where}.nullable`, 'beside a type');
  if (!nullable && known.includes('null')) throw malformed(`${where}.nullable`, 'true beside the type "null"');
}

function malformed(where: string, expected: string): Uncompilable {
  return new Uncompilable(`must be ${expected}`, where);
}

function tooDeep(): Uncompilable {
  return new Uncompilable(`is nested deeper than ${MAX_LEVELS} schemas, with those behind references`);
}
