import { inTurns } from '../../base/in-turns.ts';
import { shortJson } from '../../base/short-text.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { JsonSchema } from '../../schema/json-schema.ts';
import type { ListKind } from './kinds.ts';

/*
 * Many clients refuse a whole list if one entry is malformed, and do not connect if one capability is. With several servers, this
 * would take the entries of all servers from them. So what is malformed is left out. The schemas contain what the specification
 * and the official clients require in all revisions.
 */

const text = { type: 'string' };
const flag = { type: 'boolean' };
const object = { type: 'object' };
const texts = { type: 'array', items: text };
const objects = { type: 'object', additionalProperties: object };

const icon = record({ src: text, mimeType: text, sizes: texts, theme: { enum: ['light', 'dark'] } }, ['src']);
const shared = { name: text, title: text, description: text, icons: { type: 'array', items: icon }, _meta: object };
const annotations = record({
  audience: { type: 'array', items: { enum: ['user', 'assistant'] } },
  priority: { type: 'number', minimum: 0, maximum: 1 },
  // ISO 8601 with a time zone (2025-11-25, schema: Annotations).
  lastModified: {
    type: 'string',
    pattern:
      '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\\.[0-9]+)?)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$',
  },
});
const ofSchema = {
  properties: { type: 'object', additionalProperties: { type: ['object', 'boolean'] } },
  required: texts,
};

const ENTRIES: Readonly<Record<string, JsonSchema>> = {
  tools: schema(
    {
      ...shared,
      inputSchema: record({ ...ofSchema, type: { const: 'object' } }, ['type']),
      outputSchema: record(ofSchema),
      annotations: record({
        ...{ title: text, readOnlyHint: flag, destructiveHint: flag, idempotentHint: flag, openWorldHint: flag },
      }),
      execution: record({ taskSupport: { enum: ['required', 'optional', 'forbidden'] } }),
    },
    ['name', 'inputSchema'],
  ),
  prompts: schema(
    {
      ...shared,
      arguments: {
        type: 'array',
        items: record({ name: text, title: text, description: text, required: flag }, ['name']),
      },
    },
    ['name'],
  ),
  resources: schema({ ...shared, uri: text, mimeType: text, size: { type: 'number' }, annotations }, ['uri', 'name']),
  resourceTemplates: schema({ ...shared, uriTemplate: text, mimeType: text, annotations }, ['uriTemplate', 'name']),
  tasks: schema(
    {
      ...{ taskId: text, createdAt: text, lastUpdatedAt: text, statusMessage: text },
      status: { enum: ['working', 'input_required', 'completed', 'failed', 'cancelled'] },
      ttl: { type: ['number', 'null'] },
      pollInterval: { type: 'number' },
    },
    ['taskId', 'status', 'ttl', 'createdAt', 'lastUpdatedAt'],
  ),
};

const CAPABILITIES = schema({
  ...{ experimental: objects, extensions: objects, logging: object, completions: object },
  ...{ prompts: record({ listChanged: flag }), tools: record({ listChanged: flag }) },
  resources: record({ listChanged: flag, subscribe: flag }),
  tasks: record({ list: object, cancel: object, requests: record({ tools: record({ call: object }) }) }),
});

function record(properties: JsonObject, required: readonly string[] = []): JsonObject {
  return { type: 'object', properties, required };
}

function schema(properties: JsonObject, required: readonly string[] = []): JsonSchema {
  return new JsonSchema(record(properties, required), 'fleet');
}

/** @returns what is wrong. Undefined if nothing is. */
function problemOf(checked: JsonSchema, value: unknown): string | undefined {
  const result = checked.validate(value);
  if (!('issues' in result) || !result.issues) return undefined;
  const [issue] = result.issues;
  return issue && [...(issue.path ?? []).map(String), issue.message].join(' ');
}

/**
 * The valid entries of a page.
 *
 * @param warn called once, if there are others.
 */
export async function validEntries(
  { key, id, method }: ListKind,
  entries: readonly JsonObject[],
  warn: (what: string) => void,
): Promise<JsonObject[]> {
  const valid: JsonObject[] = [];
  let first: string | undefined;
  await inTurns(entries, (entry) => {
    const problem = problemOf(ENTRIES[key]!, entry);
    if (problem === undefined) valid.push(entry);
    else first ??= `${shortJson(entry[id])}: ${problem}`;
  });
  if (first !== undefined) warn(`returned malformed entries of ${method}, which are left out, such as ${first}`);
  return valid;
}

/** The valid capabilities of a server. */
export function validCapabilities(capabilities: JsonObject): JsonObject {
  if (problemOf(CAPABILITIES, capabilities) === undefined) return capabilities;
  const valid = Object.entries(capabilities).filter(
    ([name, value]) => problemOf(CAPABILITIES, { [name]: value }) === undefined,
  );
  return Object.fromEntries(valid);
}
