import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { resolved, withoutFragment, type Subschema } from './subschemas.ts';

/** Subschemas of one check, each counted as often as `$ref` leads to it. */
const MAX_EXPANDED = 10_000;
/** References and subschemas one within the other. */
const MAX_DEPTH = 1000;

/**
 * Refuses a schema that is small as written and huge as checked: forty definitions, each of which refers to the next one
 * twice, take 2^40 steps (2026-07-28, basic: Composition-Keyword Resource Use). A reference back to what is being counted
 * counts as one, for how often it is followed depends on the value.
 *
 * @param subschemas of `subschemasOf`, the whole schema first.
 * @throws TypeError where one check may take more than 10,000 subschemas, where they are nested deeper than 1000, where it refers to itself for one and the same value, or where
 * a reference leads to what is no schema of it.
 */
export function refuseExpanding(subschemas: readonly Subschema[], name: string): void {
  const references = new References(subschemas, name);
  const parts = new Map<JsonObject, JsonObject[]>();
  const inPlace = new Map<JsonObject, JsonObject[]>();
  for (const { schema, parent, base, inPlace: isInPlace } of subschemas) {
    const referred = references.of(schema, base);
    parts.set(schema, [...referred]);
    inPlace.set(schema, referred);
    if (parent) parts.get(parent)!.push(schema);
    if (parent && isInPlace) inPlace.get(parent)!.push(schema);
  }
  // What checks one value must be counted without what checks its parts: a way back through them would hide how often.
  const atOnce = counter(inPlace, name, true);
  for (const { schema } of subschemas) atOnce(schema, 1);
  const [root] = subschemas;
  if (root) counter(parts, name, false)(root.schema, 1);
}

/** Counts the subschemas that a schema takes, by what each one takes. */
function counter(parts: ReadonlyMap<JsonObject, JsonObject[]>, name: string, endless: boolean) {
  const costs = new Map<JsonObject, number>();
  const open = new Set<JsonObject>();
  return function costOf(schema: JsonObject, depth: number): number {
    const known = costs.get(schema);
    if (known !== undefined) return known;
    if (open.has(schema)) {
      if (endless) throw new TypeError(`${name} refers to itself without an end`);
      return 1;
    }
    if (depth > MAX_DEPTH) throw new TypeError(`${name} has references deeper than ${MAX_DEPTH}`);
    open.add(schema);
    let cost = 1;
    for (const part of parts.get(schema)!) cost += costOf(part, depth + 1);
    if (cost > MAX_EXPANDED) {
      throw new TypeError(
        `${name} takes more than ${MAX_EXPANDED} subschemas to check where its references are followed`,
      );
    }
    open.delete(schema);
    costs.set(schema, cost);
    return cost;
  };
}

/** Finds what references mean within one schema. */
class References {
  readonly #name: string;
  /** By address without a fragment: the first schema that stands there is the whole of what has the address. */
  readonly #wholes = new Map<string, JsonObject>();
  readonly #anchors = new Map<string, JsonObject[]>();
  readonly #known: ReadonlySet<unknown>;

  constructor(subschemas: readonly Subschema[], name: string) {
    this.#name = name;
    this.#known = new Set(subschemas.map(({ schema }) => schema));
    for (const { schema, base } of subschemas) {
      const address = withoutFragment(base);
      if (!this.#wholes.has(address)) this.#wholes.set(address, schema);
      for (const keyword of ['$anchor', '$dynamicAnchor']) this.#remember(schema[keyword], address, schema);
      // Draft-07 writes an anchor as an id.
      const { $id } = schema;
      if (typeof $id === 'string' && $id.includes('#'))
        this.#remember($id.slice($id.indexOf('#') + 1), address, schema);
    }
  }

  /** All that the references of a schema may lead to. */
  of(schema: JsonObject, base: string): JsonObject[] {
    const found: JsonObject[] = [];
    for (const keyword of ['$ref', '$dynamicRef']) {
      const reference: unknown = schema[keyword];
      if (typeof reference === 'string') found.push(...this.#find(reference, base));
    }
    return found;
  }

  #remember(anchor: unknown, address: string, schema: JsonObject): void {
    if (typeof anchor !== 'string' || anchor === '') return;
    const key = `${address}#${anchor}`;
    this.#anchors.set(key, [...(this.#anchors.get(key) ?? []), schema]);
  }

  #find(reference: string, base: string): readonly JsonObject[] {
    const address = resolved(reference, base);
    const whole = this.#wholes.get(withoutFragment(address));
    const hash = address.indexOf('#');
    const fragment = hash === -1 ? '' : decoded(address.slice(hash + 1));
    if (whole && (fragment === '' || fragment.startsWith('/'))) {
      const found = fragment === '' ? whole : pointedAt(whole, fragment);
      if (typeof found === 'boolean') return [];
      if (this.#known.has(found)) return [found as JsonObject];
    }
    const anchored = this.#anchors.get(`${withoutFragment(address)}#${fragment}`);
    if (anchored) return anchored;
    throw new TypeError(`${this.#name} refers to ${JSON.stringify(reference)}, where there is no schema`);
  }
}

/** What a JSON pointer leads to (RFC 6901); undefined where there is nothing. */
function pointedAt(whole: JsonObject, pointer: string): unknown {
  let at: unknown = whole;
  for (const step of pointer.slice(1).split('/')) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(at)) at = (at as unknown[])[Number(key)];
    else at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }
  return at;
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}
