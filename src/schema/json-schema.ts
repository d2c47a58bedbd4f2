import type { StandardSchemaV1 } from '@standard-schema/spec';
import { quoting, shortJson } from '../base/short-text.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import type { Dialect, Keyword, SchemaReader } from './keyword.ts';
import { KEYWORDS } from './keywords.ts';
import { Node, type Check } from './node.ts';
import { References } from './references.ts';
import { Run } from './run.ts';
import { refuseExternalReferences, subschemasOf, type Subschema } from './subschemas.ts';
import { TooMuchWork, Work } from './work.ts';

/** Compiled once for each schema object, however many servers register it. Removed together with the schema object. */
const read = new WeakMap<JsonObject, Node>();

/**
 * A JSON Schema of 2020-12 or draft-07, as tools' authors and peers write it. `format`, `contentEncoding`, similar keywords, and
 * unknown keywords are annotations, as both dialects allow. The steps to read any schema and to check any value are bounded:
 * a value that takes more than `MAX_STEPS` is refused, and the issue says so. So a check holds the event loop for less than
 * 250 ms, whatever the schema and the value.
 */
export class JsonSchema {
  readonly json: JsonObject;
  readonly #root: Node;

  /**
   * @param name the name of the schema in error messages.
   * @throws TypeError if the schema is invalid, if `$schema` is a dialect other than 2020-12 and draft-07, if it refers
   * to a schema outside itself, or if it is too large.
   */
  constructor(json: JsonObject, name: string) {
    this.json = json;
    const dialect = dialectOf(json, name);
    let root = read.get(json);
    if (!root) read.set(json, (root = compiled(json, dialect, name)));
    this.#root = root;
  }

  /** The issues are the first mistake in a value. If the schema has alternatives, the mistakes of each are included. */
  validate(value: unknown): StandardSchemaV1.Result<unknown> {
    const run = new Run();
    try {
      return this.#root.check(value, run, undefined) ? { value } : { issues: run.issues };
    } catch (error) {
      if (error instanceof TooMuchWork) return { issues: [{ path: [], message: error.message }] };
      throw error;
    }
  }
}

function compiled(json: JsonObject, dialect: Dialect, name: string): Node {
  try {
    return new Compiler(json, dialect, name).root;
  } catch (error) {
    if (error instanceof TooMuchWork) throw new TypeError(`${name} ${error.message}`, { cause: error });
    throw error;
  }
}

const DIALECTS: ReadonlyMap<string, Dialect> = new Map([
  ['json-schema.org/draft/2020-12/schema', '2020-12'],
  ['json-schema.org/draft-07/schema', 'draft-07'],
]);

/** 2025-11-25, basic: Schema Dialect. The default is 2020-12. An unsupported dialect must be refused. */
function dialectOf({ $schema }: JsonObject, name: string): Dialect {
  if ($schema === undefined) return '2020-12';
  const dialect =
    typeof $schema === 'string' ? DIALECTS.get($schema.replace(/^https?:\/\//, '').replace(/#$/, '')) : undefined;
  if (dialect !== undefined) return dialect;
  throw new TypeError(`${name} has an unsupported dialect, ${shortJson($schema)} (supported: 2020-12, draft-07)`);
}

/** Compiles a schema and all schemas within it to nodes. */
class Compiler implements SchemaReader {
  readonly root: Node;
  readonly dialect: Dialect;
  readonly work = new Work();
  readonly #references: References;
  readonly #name: string;
  readonly #nodes = new Map<unknown, Node>();
  readonly #todo: Subschema[] = [];

  constructor(json: JsonObject, dialect: Dialect, name: string) {
    this.dialect = dialect;
    this.#name = name;
    const subschemas = subschemasOf(json, name, this.work);
    refuseExternalReferences(subschemas, name, this.work);
    this.#references = new References(subschemas, this.work);
    this.#add(subschemas);
    this.root = this.#nodes.get(json)!;
    for (let next = this.#todo.pop(); next; next = this.#todo.pop()) this.#fill(next);
  }

  node(schema: unknown, keyword: string, base: string): Node {
    const known = this.#nodes.get(schema);
    if (known) return known;
    if (isObject(schema)) {
      // A JSON pointer may lead to a schema that is not inside a known keyword.
      this.#add(subschemasOf(schema, this.#name, this.work, base));
      return this.#nodes.get(schema)!;
    }
    if (typeof schema !== 'boolean') throw new TypeError(`${keyword} must be a schema`);
    const node = new Node(this.root.resource);
    if (!schema) node.checks = [(_, run) => run.fail('is not allowed')];
    this.#nodes.set(schema, node);
    return node;
  }

  referred(reference: string, keyword: string, base: string): Node {
    this.work.read(reference.length);
    const found = this.#references.find(reference, base);
    if (typeof found === 'boolean' || isObject(found)) return this.node(found, '$ref', base);
    throw new TypeError(`${keyword} refers to ${shortJson(reference)}, where there is no schema`);
  }

  dynamicName(reference: string, base: string): string | undefined {
    return this.#references.dynamicName(reference, base);
  }

  known(schema: JsonObject): Node {
    return this.#nodes.get(schema)!;
  }

  #add(subschemas: readonly Subschema[]): void {
    for (const each of subschemas) {
      if (this.#nodes.has(each.schema)) continue;
      this.#nodes.set(each.schema, new Node(this.#references.resource(each.base, each.schema)));
      this.#todo.push(each);
    }
  }

  #fill({ schema, base, where }: Subschema): void {
    const node = this.#nodes.get(schema)!;
    const checks: Check[] = [];
    try {
      for (const { keyword, build } of this.#keywordsOf(schema)) {
        const check = build(schema[keyword], { keyword, schema, base, reader: this });
        if (check) checks.push(check);
        if (keyword.startsWith('unevaluated')) node.asks = true;
      }
    } catch (error) {
      if (error instanceof TooMuchWork) throw error;
      const place = where === '' ? '' : quoting` (${where})`;
      throw new TypeError(`${this.#name} is not valid: ${(error as Error).message}${place}`, { cause: error });
    }
    node.checks = checks;
  }

  /** In the order in which they are checked. */
  #keywordsOf(schema: JsonObject): Keyword[] {
    const known = KEYWORDS[this.dialect];
    const keys = Object.keys(schema);
    this.work.take(40 + 10 * keys.length);
    // In draft-07, keywords beside `$ref` are ignored (draft-07 core, section 8.3).
    if (this.dialect === 'draft-07' && keys.includes('$ref')) return [known.get('$ref')!];
    return keys
      .filter((key) => known.has(key) && schema[key] !== undefined)
      .map((key) => known.get(key)!)
      .toSorted((one, other) => one.order - other.order);
  }
}
