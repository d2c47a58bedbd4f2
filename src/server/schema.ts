import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { paramHeaders, type ParamHeader } from '../protocol/param-headers.ts';
import { PlainSchema } from '../protocol/plain-schema.ts';
import { refuseExternalReferences, subschemasOf } from '../protocol/subschemas.ts';

export { complaint } from '../protocol/complaint.ts';

/** A Standard Schema that can also say itself as JSON Schema (Zod from 4.2, ArkType, Valibot through its adapter). */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': StandardSchemaV1.Props<Input, Output> & StandardJSONSchemaV1.Props<Input, Output>;
}

/** What a tool's `input` and `output` may be: a Standard Schema, or a JSON Schema (2020-12, or draft-07 by its `$schema`). */
export type AnySchema = StandardSchema<any, any> | JsonObject;

type Verdict = StandardSchemaV1.Result<unknown>;

/** A schema as the registry keeps it: made once when a tool is registered. */
export interface Schema {
  /** What lists show of it. */
  readonly json: JsonObject;
  validate(value: unknown): Verdict | Promise<Verdict>;
}

/** The schema of a tool's arguments. */
export interface InputSchema extends Schema {
  /** What callers over HTTP say again in headers; undefined where that is nothing. */
  readonly headers: readonly ParamHeader[] | undefined;
}

/** For tools that take no arguments: whatever comes, the handler sees none. */
export const NO_INPUT: InputSchema = {
  json: { type: 'object', properties: {} },
  headers: undefined,
  validate: () => ({ value: {} }),
};

/**
 * The schema of a tool's arguments.
 *
 * @throws TypeError where it cannot be said as JSON Schema, names an unknown dialect, refers to what is not in it, has a
 * `pattern` that is no regular expression, is larger than what is checked (2026-07-28, basic: JSON Schema Usage), is not about an object (2025-11-25, server/tools:
 * Tool), or asks for headers that cannot be (2026-07-28, server/tools: x-mcp-header).
 */
export function inputSchema(given: AnySchema, owner: string): InputSchema {
  const { subschemas, ...schema } = checkedSchema(given, 'input', owner);
  const { type } = schema.json;
  if (type !== undefined && type !== 'object')
    throw new TypeError(`${owner}: the input schema must have type "object"`);
  const json = type === 'object' ? schema.json : { type: 'object', ...schema.json };
  return { json, headers: paramHeaders(subschemas, owner), validate: schema.validate };
}

/** The schema of a tool's structured result. Throws as `inputSchema` does, but takes schemas of any type. */
export function outputSchema(given: AnySchema, owner: string): Schema {
  return anySchema(given, 'output', owner);
}

/** What a Standard Schema or a JSON Schema says of what goes in, or of what comes out. Throws as `outputSchema` does. */
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
    // As JSON Schema this would say nothing, and let everything through.
    const parts = Object.entries<Partial<StandardSchema> | null | undefined>(given as JsonObject);
    const part = parts.find(([, value]) => typeof value?.['~standard']?.validate === 'function');
    if (part) {
      throw new TypeError(
        `${name} has a schema at ${part[0]} but is none: make one of them all, as z.object({ … }) does`,
      );
    }
    return new PlainSchema(given, name);
  }
  if (typeof standard.jsonSchema?.[side] !== 'function') {
    throw new TypeError(
      `${name} (${standard.vendor}) does not offer itself as JSON Schema (~standard.jsonSchema); ${remedy(standard.vendor)}`,
    );
  }
  let json: JsonObject;
  try {
    json = { ...standard.jsonSchema[side]({ target: 'draft-2020-12' }) };
  } catch (cause) {
    throw new TypeError(`${name} cannot be written as JSON Schema: ${(cause as Error).message}`, { cause });
  }
  // 2020-12 is the default dialect (2025-11-25, basic: Schema Dialect), and some older readers stumble over its name.
  delete json['$schema'];
  return { json, validate: (value) => standard.validate(value) };
}

function remedy(vendor: string): string {
  return vendor === 'valibot'
    ? 'wrap it in toStandardJsonSchema of @valibot/to-json-schema'
    : 'use a newer version of its library, or give a JSON Schema';
}
