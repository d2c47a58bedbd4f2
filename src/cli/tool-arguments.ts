import { define } from '../base/define.ts';
import { jsonIn } from '../jsonrpc/json-in.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import type { Tool } from '../protocol/types.ts';
import { complaint } from '../schema/complaint.ts';
import { JsonSchema } from '../schema/json-schema.ts';
import { Failure } from './failure.ts';
import { suggestion } from '../base/nearest.ts';
import { MAX_ARGUMENTS, ToolSchema } from './tool-schema.ts';

export type NamedTool = Pick<Tool, 'name' | 'inputSchema'>;

/**
 * Builds the arguments of a tool from command-line words. `key=value` gets the type that the tool's schema gives the
 * key; repeated keys make a list. `a.b=value` sets a property of the object `a`. `key:=json` is JSON, whatever the
 * schema says.
 *
 * @param base arguments to start from. The words override them.
 * @throws Failure with code 2 that names the word and the arguments that the tool takes.
 */
export function toolArguments(tool: NamedTool, words: readonly string[], base: JsonObject = {}): JsonObject {
  const args = structuredClone(base);
  const given = new Map<string, unknown>();
  for (const word of words) {
    const [, key, json, text] = /^([^=]*?)(:?)=(.*)$/s.exec(word) ?? [];
    if (!key || text === undefined) {
      throw Failure.usage(
        `${JSON.stringify(word)} is not an argument: it must be key=value or key:=json. ${wanted(tool)}`,
      );
    }
    const { path, schema } = find(tool, key);
    const listed = !json && isList(schema);
    const before = given.get(key);
    if (before !== undefined && !(listed && Array.isArray(before))) {
      throw Failure.usage(`the argument ${key} of ${tool.name} is given twice`);
    }
    const value: unknown = json ? parseJson(text, key) : convert(text, schema, key, tool);
    if (listed && Array.isArray(before)) {
      before.push(value);
      continue;
    }
    const made: unknown = listed ? [value] : value;
    given.set(key, made ?? key);
    put(args, path, made, tool);
  }
  return args;
}

/**
 * Checks arguments against the tool's schema, as the server will, and says the same as an `McpServer`.
 *
 * @param warn called if the schema cannot be used. The server may understand it, and checks the arguments anyway.
 * @throws Failure with code 2 that names the argument and the arguments that the tool takes.
 */
export async function checkArguments(
  tool: NamedTool,
  args: JsonObject,
  warn: (message: string) => void,
): Promise<void> {
  let checked;
  try {
    checked = new JsonSchema(tool.inputSchema, `The input schema of ${tool.name}`).validate(args);
  } catch (error) {
    return warn(`the arguments are not checked before the call: ${(error as Error).message}`);
  }
  if (!checked.issues) return;
  throw Failure.usage(`Invalid arguments for tool ${tool.name}: ${complaint(checked.issues)}. ${wanted(tool)}`);
}

/** Describes a tool's arguments in a sentence: `add takes a (integer, required) and b (integer)`. */
export function wanted(tool: NamedTool): string {
  const schema = new ToolSchema(tool.inputSchema);
  const all = [...schema.properties];
  const args = all.slice(0, MAX_ARGUMENTS).map(([name, property]) => {
    return `${name} (${property.describe()}${schema.required.has(name) ? ', required' : ''})`;
  });
  if (args.length === 0) return `${tool.name} takes ${schema.open && isOpen(tool) ? 'any' : 'no'} arguments`;
  if (all.length > MAX_ARGUMENTS) args.push(`${all.length - MAX_ARGUMENTS} more`);
  const last = args.pop()!;
  return `${tool.name} takes ${args.length === 0 ? last : `${args.join(', ')} and ${last}`}`;
}

/** Whether a schema without properties explicitly allows additional ones. */
function isOpen({ inputSchema }: NamedTool): boolean {
  const { additionalProperties } = inputSchema;
  return additionalProperties === true || isObject(additionalProperties);
}

/** The property that a key names. A property with dots in its name wins over a nested property. */
function find(tool: NamedTool, key: string): { path: string[]; schema: ToolSchema } {
  let schema = new ToolSchema(tool.inputSchema);
  const path: string[] = [];
  for (let rest = key; ;) {
    const names = schema.properties;
    const whole = names.get(rest);
    if (whole) return { path: [...path, rest], schema: whole };
    const name = rest.split('.', 1)[0]!;
    const next = schema.property(name);
    if (name === '' || (next === undefined && !schema.open)) {
      const owner = path.length === 0 ? tool.name : `${path.join('.')} of ${tool.name}`;
      throw Failure.usage(
        `${owner} has no argument ${JSON.stringify(name)}${suggestion(name, names.keys())}. ${wanted(tool)}`,
      );
    }
    path.push(name);
    schema = next ?? new ToolSchema({});
    if (name === rest) return { path, schema };
    rest = rest.slice(name.length + 1);
  }
}

function parseJson(text: string, key: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw Failure.usage(`the argument ${key} is not JSON: ${(error as Error).message}`);
  }
}

function isList(schema: ToolSchema): boolean {
  return schema.types.has('array') && !schema.types.has('string');
}

/** Converts one word to the type in the schema. For a list, the word is one item. */
function convert(text: string, schema: ToolSchema, key: string, tool: NamedTool): unknown {
  const item = isList(schema) ? schema.items : schema;
  const { choices, types } = item;
  if (choices) {
    const chosen =
      choices.find((choice) => choice === text) ?? choices.find((choice) => JSON.stringify(choice) === text);
    if (chosen !== undefined) return chosen;
    if (types.size === 0 || item.json['enum'] !== undefined || item.json['const'] !== undefined) {
      throw mistaken(text, item, key, tool, suggestion(text, choices.map(String)));
    }
  }
  if (types.size === 0) return text;
  if (types.has('null') && text === 'null') return null;
  if (types.has('boolean') && (text === 'true' || text === 'false')) return text === 'true';
  if (types.has('integer') && /^[+-]?\d+$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  if (types.has('number') && /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return Number(text);
  if (isList(schema) && text.startsWith('[') && jsonIn(text) !== undefined) {
    throw Failure.usage(
      `the argument ${key} of ${tool.name} is a list: write ${key}:=${text}, or ${key}=value for each item`,
    );
  }
  if (types.has('string')) return text;
  const structured = ['object', 'array'].some((type) => types.has(type));
  throw mistaken(text, item, key, tool, structured ? `; write ${key}:=json for it` : '');
}

function mistaken(text: string, schema: ToolSchema, key: string, tool: NamedTool, more: string): Failure {
  const article = schema.choices ? 'one of ' : /^[aio]/.test(schema.describe()) ? 'an ' : 'a ';
  return Failure.usage(
    `the argument ${key} of ${tool.name} must be ${article}${schema.describe()}, not ${JSON.stringify(text)}${more}`,
  );
}

function put(args: JsonObject, path: readonly string[], value: unknown, tool: NamedTool): void {
  let owner = args;
  for (const name of path.slice(0, -1)) {
    const inner: unknown = Object.hasOwn(owner, name) ? owner[name] : {};
    if (!isObject(inner)) {
      throw Failure.usage(`the argument ${path.join('.')} of ${tool.name}: ${name} already has a value`);
    }
    define(owner, name, inner);
    owner = inner;
  }
  define(owner, path.at(-1)!, value);
}
