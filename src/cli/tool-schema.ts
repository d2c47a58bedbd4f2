/** Describes the arguments in a tool's input schema. */
import { isObject, type JsonObject } from '../jsonrpc/message.ts';

/** How many references are followed in a row, because a reference may lead to itself. */
const MAX_REFERENCES = 16;
/** How many levels of nested lists are described. */
const MAX_LISTS = 4;
/** How many choices of a property are described, and how many characters of its description are shown. */
const MAX_CHOICES = 20;
const MAX_LENGTH = 200;

/** A schema or a part of one, with the root schema in which references are resolved. */
export class ToolSchema {
  readonly json: JsonObject;
  readonly #root: JsonObject;

  constructor(json: unknown, root?: JsonObject) {
    const schema = isObject(json) ? json : {};
    this.#root = root ?? schema;
    this.json = resolve(schema, this.#root);
  }

  /** The schema's own properties, and those of the schemas that it combines. */
  get properties(): ReadonlyMap<string, ToolSchema> {
    const found = new Map<string, ToolSchema>();
    for (const part of this.#parts()) {
      for (const [name, schema] of Object.entries(isObject(part['properties']) ? part['properties'] : {})) {
        if (!found.has(name)) found.set(name, new ToolSchema(schema, this.#root));
      }
    }
    return found;
  }

  get required(): ReadonlySet<string> {
    const { required } = this.json;
    return new Set(Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []);
  }

  /** Whether the schema allows properties that it does not describe. */
  get open(): boolean {
    const parts = this.#parts();
    if (parts.some((part) => part['additionalProperties'] === true || isObject(part['additionalProperties'])))
      return true;
    return this.properties.size === 0 || parts.some((part) => isObject(part['patternProperties']));
  }

  property(name: string): ToolSchema | undefined {
    const known = this.properties.get(name);
    if (known) return known;
    const rest: unknown = this.json['additionalProperties'];
    return isObject(rest) ? new ToolSchema(rest, this.#root) : undefined;
  }

  get items(): ToolSchema {
    const list = this.#parts().find((part) => isObject(part['items']));
    return new ToolSchema(list?.['items'], this.#root);
  }

  /** The types that a value may have. Empty if the schema does not restrict them. */
  get types(): ReadonlySet<string> {
    const types = new Set<string>();
    for (const part of this.#parts()) {
      const { type } = part;
      if (Array.isArray(type)) for (const one of type) types.add(String(one));
      else if (typeof type === 'string') types.add(type);
      else if (isObject(part['properties'])) types.add('object');
    }
    return types;
  }

  /** The allowed values, if the schema lists them. */
  get choices(): readonly unknown[] | undefined {
    const found = this.#parts().flatMap((part): unknown[] => {
      if (Array.isArray(part['enum'])) return part['enum'];
      return part['const'] === undefined ? [] : [part['const']];
    });
    return found.length === 0 ? undefined : found;
  }

  /** `integer`, `string[]`, `"red" | "blue"`, `any`. Four levels of nested lists are shown; deeper ones are `any`. At most 20 choices and 200 characters are shown. */
  describe(): string {
    const text = this.#described(MAX_LISTS);
    return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
  }

  #described(lists: number): string {
    const { choices } = this;
    if (choices) {
      const shown = choices.slice(0, MAX_CHOICES).map((choice) => JSON.stringify(choice));
      if (choices.length > MAX_CHOICES) shown.push(`and ${choices.length - MAX_CHOICES} more`);
      return shown.join(' | ');
    }
    const names = Array.from(this.types, (type) => {
      if (type !== 'array') return type;
      const item = lists === 0 ? 'any' : this.items.#described(lists - 1);
      return item.includes(' ') ? `(${item})[]` : `${item}[]`;
    });
    return names.length === 0 ? 'any' : names.join(' | ');
  }

  #parts(): JsonObject[] {
    const combined = ['allOf', 'anyOf', 'oneOf'].flatMap((keyword): unknown[] => {
      const parts: unknown = this.json[keyword];
      return Array.isArray(parts) ? parts : [];
    });
    return [this.json, ...combined.filter(isObject).map((part) => resolve(part, this.#root))];
  }
}

function resolve(schema: JsonObject, root: JsonObject): JsonObject {
  let current = schema;
  for (let step = 0; typeof current['$ref'] === 'string'; step += 1) {
    const target = step < MAX_REFERENCES ? lookUp(root, current['$ref']) : undefined;
    if (target === undefined) return {};
    current = target;
  }
  return current;
}

/** Resolves a reference within the schema (RFC 6901). References to other documents are not followed. */
function lookUp(root: JsonObject, reference: string): JsonObject | undefined {
  if (!reference.startsWith('#')) return undefined;
  let found: unknown = root;
  for (const step of reference.slice(1).split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as JsonObject)[name];
  }
  return isObject(found) ? found : undefined;
}
