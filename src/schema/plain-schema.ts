import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonObject } from '../jsonrpc/message.ts';
import { JsonSchema } from './json-schema.ts';
import type { Dialect } from './keyword.ts';

/** Read once for each schema object, however many servers register it; gone when the schema is. */
const known = new WeakMap<JsonObject, JsonSchema>();

/**
 * JSON Schema as tools' authors and peers write it. A value that takes more steps to check than `MAX_STEPS` is refused,
 * and the issue says so: whatever the schema and the value, a check holds the event loop for less than 250 ms.
 */
export class PlainSchema {
  readonly json: JsonObject;
  readonly #schema: JsonSchema;

  /**
   * @param name how errors name it.
   * @throws TypeError if it is no valid schema, `$schema` names a dialect other than 2020-12 and draft-07, it refers to
   * what is not in it, or it is larger than what is checked.
   */
  constructor(json: JsonObject, name: string) {
    this.json = json;
    const dialect = dialectOf(json, name);
    let schema = known.get(json);
    if (!schema) known.set(json, (schema = new JsonSchema(json, dialect, name)));
    this.#schema = schema;
  }

  validate(value: unknown): StandardSchemaV1.Result<unknown> {
    const issues = this.#schema.check(value);
    return issues ? { issues } : { value };
  }
}

const DIALECTS: ReadonlyMap<string, Dialect> = new Map([
  ['json-schema.org/draft/2020-12/schema', '2020-12'],
  ['json-schema.org/draft-07/schema', 'draft-07'],
]);

/** 2025-11-25, basic: Schema Dialect. Absent means 2020-12; an unsupported one must be refused. */
function dialectOf({ $schema }: JsonObject, name: string): Dialect {
  if ($schema === undefined) return '2020-12';
  const dialect =
    typeof $schema === 'string' ? DIALECTS.get($schema.replace(/^https?:\/\//, '').replace(/#$/, '')) : undefined;
  if (dialect !== undefined) return dialect;
  throw new TypeError(`${name} has an unsupported dialect, ${JSON.stringify($schema)} (supported: 2020-12, draft-07)`);
}
