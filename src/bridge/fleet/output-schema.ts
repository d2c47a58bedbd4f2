import { isPeerUrl } from '../../base/peer-url.ts';
import { isObject, isStrings, type JsonObject } from '../../jsonrpc/message.ts';
import { without } from '../../jsonrpc/shape.ts';
import { checkExpression } from '../../schema/pattern.ts';
import { pointerKey } from '../../schema/pointer-key.ts';
import { resolved, ROOT, withoutFragment } from '../../schema/subschemas.ts';
import { TooMuchWork, Work } from '../../schema/work.ts';
import { withChanges, type Shape } from './shapes.ts';

/*
 * The official client 1.x compiles the output schemas of all tools when it reads their list, with Ajv for draft-07 and without a
 * meta-schema. If it cannot compile one, it refuses the whole list. So this checks what Ajv needs, in a schema of any dialect. A schema
 * that Ajv can compile is also left out if that could take very long, or if it names a subschema: the client keeps such names for all
 * tools, so those of two servers could clash.
 */

/** How many steps the check of one schema may take: less than 50 ms. */
const MAX_STEPS = 1_000_000;
/** How many steps the checks of all schemas on a page may take. A page of 1,000 tools with 20 properties each takes 3 million. */
const MAX_PAGE_STEPS = 10_000_000;
/** How many schemas may be compiled. The client takes about 1 ms for each, and repeats those without references at each reference. */
const MAX_SCHEMAS = 10_000;
/** How deep they may be nested, also through references. From 430 on, the client's stack can overflow. */
const MAX_LEVELS = 200;

const TYPES: ReadonlySet<unknown> = new Set(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']);

interface Form {
  readonly expected: string;
  readonly fits: (value: unknown) => boolean;
  /** The keys of the schemas in a value that fits, or that it is a schema itself. */
  readonly schemas?: (value: any) => readonly string[] | typeof ITSELF;
}

const ITSELF = 'itself';
const number: Form = { expected: 'a number', fits: Number.isFinite };
const text: Form = { expected: 'a string', fits: (value) => typeof value === 'string' };
const flag: Form = { expected: 'true or false', fits: (value) => typeof value === 'boolean' };
const names: Form = { expected: 'a list of strings', fits: isStrings };
const values: Form = { expected: 'a list with values', fits: (value) => Array.isArray(value) && value.length > 0 };
const types: Form = {
  expected: 'a type, or a list of types',
  fits: (value) => (Array.isArray(value) ? value.every((type) => TYPES.has(type)) : TYPES.has(value)),
};
const schema: Form = { expected: 'a schema', fits: () => true, schemas: () => ITSELF };
const schemas: Form = { expected: 'a list of schemas', fits: Array.isArray, schemas: Object.keys };
const items: Form = { ...schema, schemas: (value) => (Array.isArray(value) ? Object.keys(value) : ITSELF) };
const named: Form = { expected: 'an object', fits: isObject, schemas: Object.keys };
const dependent: Form = { ...named, schemas: (value) => Object.keys(value).filter((key) => !isStrings(value[key])) };
const absent: Form = { expected: 'absent, because some clients do not accept it', fits: () => false };
const name: Form = {
  expected: 'absent, because it could clash with a name in a schema of another server',
  fits: () => false,
};

/** The keywords of draft-07, those that Ajv adds, and the names of schemas in newer dialects. */
const KEYWORDS: ReadonlyMap<string, Form> = new Map([
  ...all(number, 'maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum', 'multipleOf', 'maxLength', 'minLength'),
  ...all(number, 'maxItems', 'minItems', 'maxProperties', 'minProperties'),
  ...all(text, '$ref', 'format', 'pattern'),
  ...all(flag, 'nullable', 'uniqueItems'),
  ...all(schema, 'additionalItems', 'additionalProperties', 'contains', 'else', 'if', 'not', 'propertyNames', 'then'),
  ...all(schemas, 'allOf', 'anyOf', 'oneOf'),
  ...all(named, 'patternProperties', 'properties'),
  ...all(absent, '$async', 'formatExclusiveMaximum', 'formatExclusiveMinimum', 'formatMaximum', 'formatMinimum', 'id'),
  ...all(name, '$anchor', '$dynamicAnchor', '$id'),
  ...[['required', names] as const, ['enum', values] as const, ['type', types] as const],
  ...[['items', items] as const, ['dependencies', dependent] as const],
]);

function all(form: Form, ...keywords: readonly string[]): (readonly [string, Form])[] {
  return keywords.map((keyword) => [keyword, form]);
}

/** Keywords whose value has schemas by names that are not keywords. */
const BY_NAME: ReadonlySet<string> = new Set([
  '$defs',
  'definitions',
  'dependencies',
  'patternProperties',
  'properties',
]);
/** Keywords whose value can be a list of schemas. */
const LISTS: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'items', 'oneOf']);
/** Keywords whose value can look like a schema. */
const DATA: ReadonlySet<string> = new Set(['const', 'default', 'enum']);
/** In their values, `$id` is a name like any other. On the way of a reference, Ajv takes each other one for that of a schema. */
const NOT_NAMED: ReadonlySet<string> = new Set([
  'definitions',
  'dependencies',
  'enum',
  'patternProperties',
  'properties',
]);

/**
 * Output schemas of a shape that each client can compile, without their `$id`. For the schemas of one page: if their checks take too long
 * together, the rest is left out.
 */
export function compilable(shape: Shape): Shape {
  let steps = 0;
  return (value, mistakes) => {
    const valid = shape(value, mistakes);
    if (!isObject(valid)) return undefined;
    if (steps >= MAX_PAGE_STEPS) return mistakes.add('is not checked, because the schemas before it are too large');
    const work = new Work(MAX_STEPS);
    try {
      return new Compilation(valid, work).checked();
    } catch (error) {
      if (error instanceof TooMuchWork) return mistakes.add(error.message);
      if (!(error instanceof Uncompilable)) throw error;
      const { where, message } = error;
      return where === '' ? mistakes.add(message) : mistakes.within(where, () => mistakes.add(message), value);
    } finally {
      steps += work.taken;
    }
  };
}

/** The message continues the place. */
class Uncompilable extends Error {
  readonly where: string;

  constructor(message: string, where: readonly string[] = []) {
    super(message);
    this.where = where.join('.');
  }
}

/** A schema that is compiled separately: the root, or one with a reference to it. */
interface Unit {
  /** Ajv compiles a schema with references once, and any other at each reference to it. */
  hasReferences: boolean;
  /** How many schemas it has, itself included. */
  size: number;
  /** Where the check met it, and how many levels it has from there. */
  readonly level: number;
  levels: number;
  /** The levels of the deepest unit that it refers to, except those that refer back to it. */
  below: number;
  /** Its position, and the lowest one of a unit that it refers to and that refers back to it (Tarjan's algorithm). */
  readonly position: number;
  lowest: number;
  /** Its levels with those behind references. Undefined until all of them are known. */
  total: number | undefined;
}

class Compilation {
  readonly #root: JsonObject;
  readonly #work: Work;
  /** The URL of the root, for references that contain it. */
  readonly #url: string | undefined;
  readonly #units = new Map<unknown, Unit>();
  /** The units without a total. */
  readonly #open: Unit[] = [];
  /** Schemas whose chain of references leads to a schema. */
  readonly #followed = new Set<unknown>();
  /** Where the check is. */
  #path: string[] = [];
  #size = 0;

  constructor(root: JsonObject, work: Work) {
    this.#root = root;
    this.#work = work;
    const { $id } = root;
    if (typeof $id !== 'string') return;
    const url = withoutFragment(resolved($id, ROOT, work));
    // Nothing can be resolved against what is no URL.
    if (isPeerUrl(url)) this.#url = url;
  }

  /** @throws Uncompilable or TooMuchWork. */
  checked(): JsonObject {
    this.#checkUnit(this.#root, 1);
    const root = this.#url !== undefined ? this.#localized(this.#root) : this.#root;
    return without(root as JsonObject, ['$id']);
  }

  /** Units that refer to each other can be nested in any order, so their levels are added up. */
  #checkUnit(root: unknown, level: number): Unit {
    const position = this.#units.size;
    const unit: Unit = {
      hasReferences: false,
      size: 0,
      level,
      levels: 0,
      below: 0,
      position,
      lowest: position,
      total: undefined,
    };
    this.#units.set(root, unit);
    this.#open.push(unit);
    this.#checkSchema(root, unit, level);
    if (unit.lowest < position) return unit;
    const circle = this.#open.splice(this.#open.lastIndexOf(unit));
    const total = circle.reduce((sum, { levels }) => sum + levels, Math.max(...circle.map(({ below }) => below)));
    this.#takeLevel(total);
    for (const each of circle) each.total = total;
    return unit;
  }

  #checkSchema(value: unknown, unit: Unit, level: number): void {
    this.#takeLevel(level);
    this.#takeSchemas(1);
    unit.size += 1;
    const levels = level - unit.level + 1;
    if (levels > unit.levels) unit.levels = levels;
    if (typeof value === 'boolean') return;
    if (!isObject(value)) throw this.#malformed('a schema');
    const keys = Object.keys(value);
    this.#work.take(40 + 10 * keys.length);
    for (const keyword of keys) {
      const one: unknown = value[keyword];
      const form = KEYWORDS.get(keyword);
      if (form === undefined) this.#checkNames(keyword, one);
      else if (form !== name || value !== this.#root) this.#checkKeyword(keyword, form, one, unit, level);
    }
    if (value['nullable'] !== undefined) this.#checkNullable(value);
  }

  #checkKeyword(keyword: string, form: Form, value: unknown, unit: Unit, level: number): void {
    this.#path.push(keyword);
    if (Array.isArray(value)) this.#work.take(10 * value.length);
    if (!form.fits(value)) throw this.#malformed(form.expected);
    const keys = form.schemas?.(value) ?? [];
    if (keys === ITSELF) this.#checkSchema(value, unit, level + 1);
    else
      for (const key of keys) {
        this.#path.push(key);
        this.#checkSchema((value as JsonObject)[key], unit, level + 1);
        this.#path.pop();
      }
    if (keyword === '$ref') this.#refer(value as string, unit, level);
    else if (keyword === 'pattern') this.#checkPattern(value as string);
    else if (keyword === 'patternProperties')
      Object.keys(value as JsonObject).forEach((each) => this.#checkPattern(each));
    this.#path.pop();
  }

  #checkPattern(pattern: string): void {
    try {
      checkExpression(pattern, this.#work);
    } catch (error) {
      if (error instanceof TypeError) throw new Uncompilable(error.message, this.#path);
      throw error;
    }
  }

  /** `nullable` is from OpenAPI, where it needs a type. */
  #checkNullable({ nullable, type }: JsonObject): void {
    const known: unknown[] = type === undefined ? [] : [type].flat();
    if (known.length === 0) throw this.#malformed('beside a type', 'nullable');
    if (nullable === false && known.includes('null')) throw this.#malformed('true beside the type "null"', 'nullable');
  }

  /** Ajv also finds the names of schemas behind keywords that it does not compile. */
  #checkNames(keyword: string, value: unknown): void {
    if (typeof value !== 'object' || value === null || DATA.has(keyword)) return;
    const isList = Array.isArray(value);
    if (isList && !LISTS.has(keyword)) return;
    this.#path.push(keyword);
    if (!isList && !BY_NAME.has(keyword)) this.#checkNamesIn(value);
    else
      for (const [key, each] of Object.entries(value)) {
        this.#path.push(key);
        if (isObject(each)) this.#checkNamesIn(each);
        this.#path.pop();
      }
    this.#path.pop();
  }

  #checkNamesIn(value: JsonObject): void {
    const keys = Object.keys(value);
    this.#work.take(10 + 10 * keys.length);
    for (const key of keys) {
      const one: unknown = value[key];
      if (typeof one !== 'string') this.#checkNames(key, one);
      else if (KEYWORDS.get(key) === name) throw this.#malformed(name.expected, key);
    }
  }

  #refer(reference: string, unit: Unit, level: number): void {
    unit.hasReferences = true;
    const target = this.#find(reference);
    this.#follow(target);
    if (typeof target === 'boolean') return;
    let to = this.#units.get(target);
    if (to === undefined) {
      const path = this.#path;
      this.#path = [reference];
      to = this.#checkUnit(target, level + 1);
      this.#path = path;
    } else if (!to.hasReferences) this.#takeSchemas(to.size);
    if (to.total === undefined) unit.lowest = Math.min(unit.lowest, to.lowest);
    else unit.below = Math.max(unit.below, to.total);
  }

  /** A chain of references must end at a schema: Ajv follows it at once. */
  #follow(target: unknown): void {
    const chain = new Set<unknown>();
    let at = target;
    while (isObject(at) && at['$ref'] !== undefined && !this.#followed.has(at)) {
      if (chain.has(at)) throw new Uncompilable('leads back to itself', this.#path);
      chain.add(at);
      at = this.#find(at['$ref']);
    }
    if (!isObject(at) && typeof at !== 'boolean') throw this.#malformed('a reference to a schema in this one');
    for (const each of chain) this.#followed.add(each);
  }

  /** What is at a JSON pointer in a fragment (RFC 6901, section 6). Undefined if it leads nowhere. */
  #find(reference: unknown): unknown {
    if (typeof reference !== 'string') return undefined;
    const fragment = this.#fragment(reference);
    if (fragment === '#') return this.#root;
    if (!fragment?.startsWith('#/')) return undefined;
    let at: unknown = this.#root;
    let from: string | undefined;
    try {
      for (const part of fragment.slice(2).split('/')) {
        const key = pointerKey(decodeURIComponent(part));
        if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
        if (from !== undefined && !NOT_NAMED.has(from) && (at as JsonObject)['$id'] !== undefined) return undefined;
        at = (at as JsonObject)[key];
        from = part;
      }
    } catch {
      // It has a "%" that encodes nothing.
      return undefined;
    }
    return at;
  }

  /** The fragment of a reference to the root or to a schema in it. Undefined for any other reference. */
  #fragment(reference: string): string | undefined {
    this.#work.take(10 + reference.length);
    if (reference.startsWith('#') || this.#url === undefined) return reference;
    const address = withoutFragment(reference);
    if (withoutFragment(resolved(address, this.#url, this.#work)) !== this.#url) return undefined;
    return reference.slice(address.length) || '#';
  }

  /** A part of the root, with references to the root's `$id` as fragments. */
  #localized(value: unknown, isByName = false): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const keys = Object.keys(value);
    this.#work.take(10 + 10 * keys.length);
    const changed = new Map<string, unknown>();
    for (const key of keys) {
      const one = (value as JsonObject)[key];
      let local = one;
      if (key === '$ref' && typeof one === 'string' && !isByName) local = this.#fragment(one) ?? one;
      else if (isByName || !DATA.has(key)) local = this.#localized(one, !isByName && BY_NAME.has(key));
      if (local !== one) changed.set(key, local);
    }
    if (!Array.isArray(value)) return withChanges(value, changed);
    return changed.size === 0 ? value : value.map((item: unknown, index) => changed.get(String(index)) ?? item);
  }

  #takeLevel(level: number): void {
    if (level > MAX_LEVELS)
      throw new Uncompilable(`is nested deeper than ${MAX_LEVELS} schemas, with those behind references`);
  }

  #takeSchemas(count: number): void {
    this.#size += count;
    if (this.#size > MAX_SCHEMAS)
      throw new Uncompilable(`has more than ${MAX_SCHEMAS} schemas, with those behind references`);
  }

  #malformed(expected: string, ...path: readonly string[]): Uncompilable {
    return new Uncompilable(`must be ${expected}`, [...this.#path, ...path]);
  }
}
