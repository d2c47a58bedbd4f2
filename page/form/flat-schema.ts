import { isObject, type JsonObject } from '../../src/jsonrpc/message.ts';
import { References } from '../../src/schema/references.ts';
import { subschemasOf } from '../../src/schema/subschemas.ts';
import { Work } from '../../src/schema/work.ts';
import { jsonOf } from './json-text.ts';

/**
 * The steps for one action of the user: one for each schema that is read, each 16 names in it or in members that are joined, and each
 * 256 characters that are compared.
 */
const MAX_STEPS = 20_000;
/** How deep schemas may be joined. */
const MAX_DEPTH = 100;

/** A schema is too large to be shown as fields. */
export class TooLarge extends Error {}

/** Reads the schemas of one document: follows `$ref`, and joins the schemas of `allOf`. */
export class SchemaReader {
  readonly #references: References | undefined;
  readonly #base: string = '';
  #left = MAX_STEPS;

  constructor(root: unknown) {
    if (!isObject(root)) return;
    try {
      const work = new Work();
      const all = subschemasOf(root, 'The schema', work);
      this.#base = all[0]!.base;
      this.#references = new References(all, work);
    } catch {
      // The schema is too large for references. Fields without references still work.
    }
  }

  /** Resets the number of steps. */
  refill(): void {
    this.#left = MAX_STEPS;
  }

  /** @throws TooLarge if fewer steps are left. */
  take(steps: number): void {
    if ((this.#left -= steps) < 0) throw new TooLarge('its schema is too large');
  }

  /**
   * A schema without `$ref` and `allOf`. If two joined schemas differ, the outer one decides. So the result is good
   * enough to describe a form, but a value must be checked by the original schema.
   *
   * @throws TooLarge if it consists of too many schemas, or of a reference that leads nowhere.
   */
  flat(schema: unknown): JsonObject {
    const open = new Set<JsonObject>();
    const read = (one: unknown): JsonObject => {
      // A cycle of references that passes through no property restricts nothing.
      if (!isObject(one) || open.has(one)) return {};
      this.take(1 + ((namesIn(one) + namesIn(one['properties'])) >>> 4));
      if (open.size === MAX_DEPTH) throw new TooLarge('its schema is nested too deeply');
      open.add(one);
      const { $ref, allOf, ...own } = one;
      let flat: JsonObject = own;
      if (typeof $ref === 'string') flat = this.#joined(flat, read(this.#target($ref)));
      if (Array.isArray(allOf)) for (const part of allOf) flat = this.#joined(flat, read(part));
      open.delete(one);
      return flat;
    };
    return read(schema);
  }

  /** Joins two schemas. If they contradict each other, the first one decides. */
  #joined(one: JsonObject, other: JsonObject): JsonObject {
    this.take(membersToJoin(one, other) >>> 4);
    const both: JsonObject = { ...other, ...one };
    for (const keyword of ['properties', 'patternProperties', '$defs', 'definitions']) {
      if (!isObject(one[keyword]) || !isObject(other[keyword])) continue;
      both[keyword] = joinedByName(one[keyword], other[keyword]);
    }
    for (const keyword of ['items', 'additionalProperties']) {
      if (one[keyword] !== undefined && other[keyword] !== undefined) {
        both[keyword] = bothOf(one[keyword], other[keyword]);
      }
    }
    if (Array.isArray(one['required']) && Array.isArray(other['required'])) {
      both['required'] = [
        ...new Set<unknown>([...(one['required'] as unknown[]), ...(other['required'] as unknown[])]),
      ];
    }
    if (one['type'] !== undefined && other['type'] !== undefined)
      both['type'] = commonTypes(one['type'], other['type']);
    if (Array.isArray(one['enum']) && Array.isArray(other['enum'])) {
      const texts = new Set(this.#textsOf(other['enum']));
      const own = this.#textsOf(one['enum']);
      both['enum'] = (one['enum'] as unknown[]).filter((_, at) => texts.has(own[at]));
    }
    return both;
  }

  #textsOf(values: readonly unknown[]): (string | undefined)[] {
    const texts = values.map(jsonOf);
    this.take(texts.reduce((sum, text) => sum + (text?.length ?? 0), 0) >>> 8);
    return texts;
  }

  #target(reference: string): unknown {
    const target = this.#find(reference);
    if (target === undefined) throw new TooLarge(`its schema refers to ${reference}, which is not there`);
    return target;
  }

  #find(reference: string): unknown {
    try {
      return this.#references?.find(reference, this.#base);
    } catch {
      return undefined;
    }
  }
}

function namesIn(value: unknown): number {
  return isObject(value) ? Object.keys(value).length : 0;
}

/** How many members are looked at to join two schemas. What only one of them has stays as it is. */
function membersToJoin(one: JsonObject, other: JsonObject): number {
  const membersIn = (value: unknown): number => (Array.isArray(value) ? value.length : namesIn(value));
  let count = membersIn(one) + membersIn(other);
  for (const [keyword, value] of Object.entries(one)) {
    if (keyword in other) count += membersIn(value) + membersIn(other[keyword]);
  }
  return count;
}

function joinedByName(one: JsonObject, other: JsonObject): JsonObject {
  const all = new Map<string, unknown>(Object.entries(one));
  for (const [name, schema] of Object.entries<unknown>(other)) {
    all.set(name, all.has(name) ? bothOf(all.get(name), schema) : schema);
  }
  return Object.fromEntries(all);
}

function bothOf(one: unknown, other: unknown): unknown {
  if (one === false || other === false) return false;
  if (!isObject(one)) return other;
  return isObject(other) ? { allOf: [one, other] } : one;
}

function commonTypes(one: unknown, other: unknown): unknown {
  const others = new Set<unknown>([other].flat());
  const wider = (type: unknown): boolean => type === 'integer' && others.has('number');
  const common = [one].flat().flatMap((type) => {
    if (others.has(type) || wider(type)) return [type];
    return type === 'number' && others.has('integer') ? ['integer'] : [];
  });
  if (common.length === 0) return one;
  return common.length === 1 ? common[0] : common;
}
