/**
 * JSON Schema as tools' authors write it, checked by ajv.
 *
 * Why ajv and not the lighter `@cfworker/json-schema` (Node 20, one shared core): a check of two integers takes ajv
 * 0.05 µs and the other 1.8 µs, of a small nested object 0.04 µs and 5.5 µs, and a tool with `output` pays that twice a
 * call. Of the 1,242 local cases of the official 2020-12 suite they pass 95.5% and 97.0%; neither has all of
 * `$dynamicRef`. The price is an import of 30 ms against 6 ms, paid once when the first such tool is called, and that
 * ajv compiles to code: where code generation is forbidden, use a Standard Schema.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { ErrorObject, Options, ValidateFunction } from 'ajv';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';

type Verdict = StandardSchemaV1.Result<unknown>;
type Dialect = '2020-12' | 'draft-07';

/** Compiled once for each schema object, however many servers register it; gone when the schema is. */
const compiled = new WeakMap<JsonObject, Promise<ValidateFunction>>();

export class PlainSchema {
  readonly json: JsonObject;
  readonly #dialect: Dialect;
  /** How errors name it. */
  readonly #name: string;
  #check: ValidateFunction | undefined;

  /** @throws TypeError where `$schema` names a dialect other than 2020-12 and draft-07. */
  constructor(json: JsonObject, name: string) {
    this.json = json;
    this.#dialect = dialectOf(json, name);
    this.#name = name;
  }

  /** @throws RpcError −32603 (rejects) where the schema itself is not valid. */
  validate(value: unknown): Verdict | Promise<Verdict> {
    if (this.#check !== undefined) return verdict(this.#check, value);
    return this.#compile().then((check) => {
      this.#check = check;
      return verdict(check, value);
    });
  }

  async #compile(): Promise<ValidateFunction> {
    let check = compiled.get(this.json);
    if (check === undefined) {
      check = compile(this.json, this.#dialect);
      compiled.set(this.json, check);
    }
    try {
      return await check;
    } catch (cause) {
      throw new RpcError(ErrorCode.InternalError, `${this.#name} is not valid: ${(cause as Error).message}`, { cause });
    }
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

async function compile(json: JsonObject, dialect: Dialect): Promise<ValidateFunction> {
  const ajv = await (dialect === 'draft-07' ? draft07() : draft2020());
  try {
    return ajv.compile(json);
  } finally {
    // Two tools may carry schemas with the same `$id`, and a schema must not outlive its server.
    ajv.removeSchema(json);
  }
}

const OPTIONS: Options = {
  // Unknown keywords and formats are annotations in both dialects.
  strict: false,
  validateFormats: false,
  logger: false,
  // Checking against the meta-schema would cost 40 ms more at the first call; ajv still checks each keyword's value.
  meta: false,
  validateSchema: false,
  // `required: ["constructor"]` asks for an own property.
  ownProperties: true,
  // Stops at the first error: a hostile array must not yield a million of them.
  allErrors: false,
};

const draft2020 = once(async () => new (await import('ajv/dist/2020.js')).Ajv2020(OPTIONS));
const draft07 = once(async () => new (await import('ajv')).Ajv(OPTIONS));

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

function verdict(check: ValidateFunction, value: unknown): Verdict {
  return check(value) ? { value } : { issues: (check.errors ?? []).map(issue) };
}

function issue(error: ErrorObject) {
  const { instancePath, params, keyword, message = 'is not valid' } = error;
  const path = instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  switch (keyword) {
    case 'required':
      return { path: [...path, String(params['missingProperty'])], message: 'is missing' };
    case 'additionalProperties':
      return { path: [...path, String(params['additionalProperty'])], message: 'is not expected' };
    case 'unevaluatedProperties':
      return { path: [...path, String(params['unevaluatedProperty'])], message: 'is not expected' };
    case 'enum':
      return { path, message: `must be one of ${JSON.stringify(params['allowedValues'])}` };
    case 'const':
      return { path, message: `must be ${JSON.stringify(params['allowedValue'])}` };
    default:
      return { path, message };
  }
}
