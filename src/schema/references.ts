import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { pointerKey } from './pointer-key.ts';
import { resolved, withoutFragment, type Subschema } from './subschemas.ts';
import type { Work } from './work.ts';

/** A schema resource: a schema with a URI of its own, and its anchors (2020-12 core, section 4.3.5). */
export class Resource {
  /** The first schema at the URI. */
  readonly whole: JsonObject;
  readonly anchors = new Map<string, JsonObject>();
  readonly dynamicAnchors = new Map<string, JsonObject>();

  constructor(whole: JsonObject) {
    this.whole = whole;
  }
}

/** Resolves references within one schema. */
export class References {
  readonly #resources = new Map<string, Resource>();
  readonly #work: Work;

  constructor(subschemas: readonly Subschema[], work: Work) {
    this.#work = work;
    for (const { schema, base } of subschemas) {
      const resource = this.resource(base, schema);
      const { $anchor, $dynamicAnchor, $id } = schema;
      // In draft-07, an anchor is written as an `$id`.
      const fragment = typeof $id === 'string' && $id.includes('#') ? $id.slice($id.indexOf('#') + 1) : undefined;
      for (const anchor of [$anchor, $dynamicAnchor, fragment]) remember(resource.anchors, anchor, schema);
      remember(resource.dynamicAnchors, $dynamicAnchor, schema);
    }
  }

  /** The resource of a base URI. If it is not known yet, the schema becomes its root. */
  resource(base: string, schema: JsonObject): Resource {
    this.#work.read(base.length);
    const address = withoutFragment(base);
    let resource = this.#resources.get(address);
    if (!resource) this.#resources.set(address, (resource = new Resource(schema)));
    return resource;
  }

  /** The schema, or any other JSON, that a reference points to. Undefined if there is none. */
  find(reference: string, base: string): unknown {
    const { resource, fragment } = this.#parts(reference, base);
    if (fragment === '') return resource?.whole;
    if (resource && fragment.startsWith('/')) return pointedAt(resource.whole, fragment, this.#work);
    return resource?.anchors.get(fragment);
  }

  /**
   * The anchor that `$dynamicRef` looks up in the dynamic scope. Undefined if the reference works like `$ref` (2020-12
   * core, section 8.2.3.2).
   */
  dynamicName(reference: string, base: string): string | undefined {
    const { resource, fragment } = this.#parts(reference, base);
    return resource?.dynamicAnchors.has(fragment) ? fragment : undefined;
  }

  #parts(reference: string, base: string): { resource: Resource | undefined; fragment: string } {
    const address = resolved(reference, base, this.#work);
    return { resource: this.#resources.get(withoutFragment(address)), fragment: fragmentOf(address) };
  }
}

function remember(anchors: Map<string, JsonObject>, anchor: unknown, schema: JsonObject): void {
  if (typeof anchor === 'string' && anchor !== '' && !anchors.has(anchor)) anchors.set(anchor, schema);
}

function fragmentOf(address: string): string {
  const hash = address.indexOf('#');
  if (hash === -1) return '';
  try {
    return decodeURIComponent(address.slice(hash + 1));
  } catch {
    return address.slice(hash + 1);
  }
}

/** The value that a JSON pointer points to (RFC 6901). Undefined if there is none. */
function pointedAt(whole: JsonObject, pointer: string, work: Work): unknown {
  let at: unknown = whole;
  for (let end = 0; end < pointer.length && at !== undefined;) {
    work.take(10);
    const start = end + 1;
    const slash = pointer.indexOf('/', start);
    end = slash === -1 ? pointer.length : slash;
    const key = pointerKey(pointer.slice(start, end));
    if (Array.isArray(at)) at = (at as unknown[])[Number(key)];
    else at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }
  return at;
}
