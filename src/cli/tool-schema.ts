/** Describes the arguments in a tool's input schema. */
import { cutText } from '../base/short-text.ts';
import { isObject, stringsIn, type JsonObject } from '../jsonrpc/message.ts';
import { pointerKey } from '../schema/pointer-key.ts';
import { wordsOf } from './screen.ts';

/** How many arguments of a tool are listed. */
export const MAX_ARGUMENTS = 100;
/** How many references are followed in a row, because a reference may lead to itself. */
const MAX_REFERENCES = 16;
/** How many levels of nested lists are described. */
const MAX_LISTS = 4;
/** How many choices of a property are described, and how many characters of its description are shown. */
const MAX_CHOICES = 20;
const MAX_LENGTH = 200;
/** How many types are read. JSON Schema has seven. */
const MAX_TYPES = 7;

/**
 * A schema or a part of one. Many parts may refer to the same part, so each is read once: the time to read a schema must
 * not be a multiple of its size.
 */
export class ToolSchema {
  readonly json: JsonObject;
  readonly #document: SchemaDocument;
  #properties: ReadonlyMap<string, ToolSchema> | undefined;
  #parts: readonly ToolSchema[] | undefined;
  #choices: ShownChoices | undefined;
  readonly #descriptions: string[] = [];

  constructor(json: unknown, document = new SchemaDocument(json)) {
    this.#document = document;
    this.json = document.resolve(isObject(json) ? json : {});
  }

  /** The schema's own properties, and those of the schemas that it combines. */
  get properties(): ReadonlyMap<string, ToolSchema> {
    if (this.#properties) return this.#properties;
    const found = new Map<string, ToolSchema>();
    for (const { json } of this.#combined()) {
      for (const [name, schema] of Object.entries(isObject(json['properties']) ? json['properties'] : {})) {
        if (!found.has(name)) found.set(name, this.#document.schema(schema));
      }
    }
    this.#properties = found;
    return found;
  }

  get required(): ReadonlySet<string> {
    return stringsIn(this.json['required']);
  }

  /** Whether the schema allows properties that it does not describe. */
  get open(): boolean {
    const parts = this.#combined();
    const allows = (rest: unknown): boolean => rest === true || isObject(rest);
    if (parts.some(({ json }) => allows(json['additionalProperties']))) return true;
    return this.properties.size === 0 || parts.some(({ json }) => isObject(json['patternProperties']));
  }

  property(name: string): ToolSchema | undefined {
    const known = this.properties.get(name);
    if (known) return known;
    const rest: unknown = this.json['additionalProperties'];
    return isObject(rest) ? this.#document.schema(rest) : undefined;
  }

  get items(): ToolSchema {
    const list = this.#combined().find(({ json }) => isObject(json['items']));
    return this.#document.schema(list?.json['items']);
  }

  /** The types that a value may have. Empty if the schema does not restrict them. */
  get types(): ReadonlySet<string> {
    const types = new Set<string>();
    for (const { json } of this.#combined()) {
      const { type } = json;
      if (Array.isArray(type)) for (const one of type.slice(0, MAX_TYPES)) types.add(wordsOf(one));
      else if (typeof type === 'string') types.add(type);
      else if (isObject(json['properties'])) types.add('object');
    }
    return types;
  }

  /** The allowed values, if the schema lists them. */
  get choices(): readonly unknown[] | undefined {
    const found = this.#combined().flatMap((part) => part.#ownChoices());
    return found.length === 0 ? undefined : found;
  }

  /** `integer`, `string[]`, `"red" | "blue"`, `any`. Four levels of nested lists are shown; deeper ones are `any`. At most 20 choices and 200 characters are shown. */
  describe(): string {
    return this.#described(MAX_LISTS);
  }

  #described(lists: number): string {
    return (this.#descriptions[lists] ??= cutText(this.#describedChoices() ?? this.#describedTypes(lists), MAX_LENGTH));
  }

  #describedChoices(): string | undefined {
    const parts = this.#combined().map((part) => (part.#choices ??= shownChoices(part.#ownChoices())));
    const count = parts.reduce((sum, part) => sum + part.count, 0);
    if (count === 0) return undefined;
    const shown = parts.flatMap((part) => part.shown).slice(0, MAX_CHOICES);
    if (count > MAX_CHOICES) shown.push(`and ${count - MAX_CHOICES} more`);
    return shown.join(' | ');
  }

  #describedTypes(lists: number): string {
    const names = Array.from(this.types, (type) => {
      if (type !== 'array') return type;
      const item = lists === 0 ? 'any' : this.items.#described(lists - 1);
      return item.includes(' ') ? `(${item})[]` : `${item}[]`;
    });
    return names.length === 0 ? 'any' : names.join(' | ');
  }

  #ownChoices(): readonly unknown[] {
    const { enum: listed, const: only } = this.json;
    if (Array.isArray(listed)) return listed;
    return only === undefined ? [] : [only];
  }

  /** This schema, and those that it combines. Each one once. */
  #combined(): readonly ToolSchema[] {
    if (this.#parts) return this.#parts;
    const combined = ['allOf', 'anyOf', 'oneOf'].flatMap((keyword): unknown[] => {
      const parts: unknown = this.json[keyword];
      return Array.isArray(parts) ? parts : [];
    });
    this.#parts = [...new Set([this, ...combined.filter(isObject).map((part) => this.#document.schema(part))])];
    return this.#parts;
  }
}

/** The first choices as JSON, and how many there are. */
interface ShownChoices {
  readonly shown: readonly string[];
  readonly count: number;
}

function shownChoices(choices: readonly unknown[]): ShownChoices {
  return {
    shown: choices.slice(0, MAX_CHOICES).map((choice) => cutText(JSON.stringify(choice), MAX_LENGTH)),
    count: choices.length,
  };
}

/** A whole schema, in which references are resolved. */
class SchemaDocument {
  readonly #root: JsonObject;
  readonly #targets = new Map<string, JsonObject | undefined>();
  readonly #schemas = new Map<JsonObject, ToolSchema>();

  constructor(root: unknown) {
    this.#root = isObject(root) ? root : {};
  }

  /** The same object for all references to the same part. */
  schema(json: unknown): ToolSchema {
    const resolved = this.resolve(isObject(json) ? json : {});
    const known = this.#schemas.get(resolved);
    if (known) return known;
    const schema = new ToolSchema(resolved, this);
    this.#schemas.set(resolved, schema);
    return schema;
  }

  resolve(schema: JsonObject): JsonObject {
    let current = schema;
    for (let step = 0; typeof current['$ref'] === 'string'; step += 1) {
      const target = step < MAX_REFERENCES ? this.#target(current['$ref']) : undefined;
      if (target === undefined) return {};
      current = target;
    }
    return current;
  }

  #target(reference: string): JsonObject | undefined {
    if (!this.#targets.has(reference)) this.#targets.set(reference, lookUp(this.#root, reference));
    return this.#targets.get(reference);
  }
}

/** Resolves a reference within the schema (RFC 6901). References to other documents are not followed. */
function lookUp(root: JsonObject, reference: string): JsonObject | undefined {
  if (!reference.startsWith('#')) return undefined;
  let found: unknown = root;
  for (const step of reference.slice(1).split('/').slice(1)) {
    const name = pointerKey(step);
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as JsonObject)[name];
  }
  return isObject(found) ? found : undefined;
}
