import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { paramHeaders, type ParamHeader } from '../core/param-headers.ts';
import { JsonSchema } from '../schema/json-schema.ts';
import { refuseExternalReferences, subschemasOf } from '../schema/subschemas.ts';

/** A Standard Schema that can be converted to JSON Schema (Zod from 4.2, ArkType, Valibot through its adapter). */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': StandardSchemaV1.Props<Input, Output> & StandardJSONSchemaV1.Props<Input, Output>;
}

/**
 * The type of a tool's `input` and `output`: a Standard Schema, or a JSON Schema (2020-12, or draft-07 if its `$schema`
 * says so).
 */
export type AnySchema = StandardSchema<any, any> | JsonObject;

/** Refuses an object of schemas (`{ a: z.string() }`) at compile time, with a message. It is no schema itself. */
export type NoShape<S> =
  S extends StandardSchema<any, any>
    ? unknown
    : string extends keyof S
      ? unknown
      : { [K in keyof S]: S[K] extends { '~standard': object } ? true : never }[keyof S] extends never
        ? unknown
        : 'Combine the schemas into one, for example with z.object({ … })';

/** What the official SDK calls these settings. Refuses them at compile time, with a message. */
export interface ToolNames {
  /** @deprecated Write `input`. */
  inputSchema?: 'Write input: z.object({ … })';
  /** @deprecated Write `output`. */
  outputSchema?: 'Write output: z.object({ … })';
}

type ValidationResult = StandardSchemaV1.Result<unknown>;

/** A schema as the registry keeps it. Built once, when a tool is registered. */
export interface Schema {
  /** The JSON Schema that lists show. */
  readonly json: JsonObject;
  validate(value: unknown): ValidationResult | Promise<ValidationResult>;
}

/** The schema of a tool's arguments. */
export interface InputSchema extends Schema {
  /** The arguments that HTTP callers repeat in headers. Undefined if there are none. */
  readonly headers: readonly ParamHeader[] | undefined;
}

/** For tools without arguments. The handler gets none, even if the caller sends some. */
export const NO_INPUT: InputSchema = {
  json: { type: 'object', properties: {} },
  headers: undefined,
  validate: () => ({ value: {} }),
};

/**
 * The schema of a tool's arguments.
 *
 * @throws TypeError if it cannot be converted to JSON Schema, names an unknown dialect, has a reference that cannot be
 * resolved within it, has a `pattern` that is not a regular expression, is too large to check (2026-07-28, basic: JSON
 * Schema Usage), does not describe an object (2025-11-25, server/tools: Tool), or declares invalid headers (2026-07-28,
 * server/tools: x-mcp-header).
 */
export function inputSchema(given: AnySchema, owner: string): InputSchema {
  const { subschemas, ...schema } = checkedSchema(given, 'input', owner);
  const { type } = schema.json;
  if (type !== undefined && type !== 'object')
    throw new TypeError(`${owner}: the input schema must have type "object"`);
  const json = type === 'object' ? schema.json : { type: 'object', ...schema.json };
  return { json, headers: paramHeaders(subschemas, owner), validate: schema.validate };
}

/**
 * Converts a Standard Schema or a JSON Schema, either its input side or its output side. Throws as `inputSchema` does, but
 * accepts schemas of any type.
 */
export function anySchema(given: AnySchema, side: 'input' | 'output', owner: string): Schema {
  const { json, validate } = checkedSchema(given, side, owner);
  return { json, validate };
}

function checkedSchema(given: AnySchema, side: 'input' | 'output', owner: string) {
  const name = `${owner}: the ${side} schema`;
  const schema = schemaOf(given, side, name);
  const subschemas = subschemasOf(schema.json, name);
  refuseExternalReferences(subschemas, name);
  return { json: schema.json, validate: (value: unknown) => schema.validate(value), subschemas };
}

function schemaOf(given: AnySchema, side: 'input' | 'output', name: string): Schema {
  const standard = (given as Partial<StandardSchema> | null)?.['~standard'];
  if (standard === undefined) {
    if (!isObject(given)) throw new TypeError(`${name} must be a Standard Schema or a JSON Schema object`);
    // As a JSON Schema, this would accept every value.
    const parts = Object.entries<Partial<StandardSchema> | null | undefined>(given as JsonObject);
    const part = parts.find(([, value]) => typeof value?.['~standard']?.validate === 'function');
    if (part) {
      throw new TypeError(
        `${name} has a schema at ${part[0]}, but is not a schema itself: combine the schemas into one, for example with z.object({ … })`,
      );
    }
    return new JsonSchema(given, name);
  }
  if (typeof standard.jsonSchema?.[side] !== 'function') {
    throw new TypeError(
      `${name} (${standard.vendor}) cannot be converted to JSON Schema (it has no ~standard.jsonSchema); ${remedy(standard.vendor, given)}`,
    );
  }
  let json: JsonObject;
  try {
    json = { ...standard.jsonSchema[side]({ target: 'draft-2020-12' }) };
  } catch (cause) {
    const field = failingField(given as StandardSchema, side);
    const where = field === '' ? '' : ` at ${field}`;
    throw new TypeError(`${name} cannot be written as JSON Schema${where}: ${(cause as Error).message}`, { cause });
  }
  // 2020-12 is the default dialect (2025-11-25, basic: Schema Dialect), and some older readers do not accept its name.
  delete json['$schema'];
  return { json, validate: (value) => standard.validate(value) };
}

/** The path of the first field that cannot be converted, in libraries that show the fields of an object as `shape`. */
function failingField(schema: StandardSchema, side: 'input' | 'output'): string {
  const { shape } = schema as { shape?: unknown };
  if (!isObject(shape)) return '';
  for (const [key, part] of Object.entries<StandardSchema>(shape)) {
    try {
      part['~standard'].jsonSchema[side]({ target: 'draft-2020-12' });
    } catch {
      const inner = failingField(part, side);
      return inner === '' ? key : `${key}.${inner}`;
    }
  }
  return '';
}

function remedy(vendor: string, given: object): string {
  if (vendor === 'valibot') return 'wrap it in toStandardJsonSchema of @valibot/to-json-schema';
  // Schemas of zod/mini have no methods, and so no conversion.
  if (vendor === 'zod' && '_zod' in given && !('describe' in given))
    return 'zod/mini has no conversion: build it with "zod", or give z.toJSONSchema(schema)';
  if (vendor === 'zod') return 'it needs Zod 4.2 or newer: npm install zod@4';
  return 'use a newer version of its library, or give a JSON Schema';
}
