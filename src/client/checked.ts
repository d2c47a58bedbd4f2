import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { InvalidResultError } from './errors.ts';

/** The required string property of each kind of entry: its name or URI. */
const IDENTIFYING: Readonly<Record<string, string>> = {
  tools: 'name',
  prompts: 'name',
  resources: 'uri',
  resourceTemplates: 'uriTemplate',
};

/** The required string properties of each known type of content block (server/tools: Tool Result). */
const CONTENT: Readonly<Record<string, string>> = {
  text: 'text',
  image: 'data',
  audio: 'data',
  resource_link: 'uri',
};

/** @throws InvalidResultError that names the first malformed entry of a list. */
export function checkEntries(method: string, property: string, entries: readonly unknown[]): void {
  const key = IDENTIFYING[property];
  for (const [index, entry] of entries.entries()) {
    const where = `${property}[${index}]`;
    const found = objectAt(method, where, entry);
    if (key !== undefined) needString(method, where, found, key);
    if (property !== 'prompts' || found['arguments'] === undefined || found['arguments'] === null) continue;
    listAt(method, `${where}.arguments`, found['arguments'], (argument, at) =>
      needString(method, at, argument, 'name'),
    );
  }
}

/** @throws InvalidResultError that names the first content block that is malformed or lacks a required property. */
export function checkContent(method: string, content: unknown): void {
  listAt(method, 'content', content, (block, where) => checkBlock(method, block, where));
}

/** The same for the messages of a prompt. */
export function checkMessages(method: string, messages: unknown): void {
  listAt(method, 'messages', messages, (message, where) => {
    const at = `${where}.content`;
    checkBlock(method, objectAt(method, at, message['content']), at);
  });
}

/** The same for the contents of a resource. */
export function checkContents(method: string, contents: unknown): void {
  listAt(method, 'contents', contents, (one, where) => checkResource(method, one, where));
}

/** The same for a completion. */
export function checkValues(method: string, values: unknown): void {
  if (!Array.isArray(values)) throw unlike(method, 'values');
  const index = values.findIndex((value) => typeof value !== 'string');
  if (index !== -1) throw new InvalidResultError(`The server answered ${method}: values[${index}] is not a string`);
}

function checkBlock(method: string, block: JsonObject, where: string): void {
  needString(method, where, block, 'type');
  const type = String(block['type']);
  if (type === 'resource') {
    const at = `${where}.resource`;
    checkResource(method, objectAt(method, at, block['resource']), at);
  } else if (Object.hasOwn(CONTENT, type)) needString(method, where, block, CONTENT[type]!);
}

function checkResource(method: string, contents: JsonObject, where: string): void {
  needString(method, where, contents, 'uri');
  if (contents['text'] !== undefined) needString(method, where, contents, 'text');
  if (contents['text'] === undefined || contents['blob'] !== undefined) needString(method, where, contents, 'blob');
}

function listAt(method: string, where: string, list: unknown, check: (entry: JsonObject, where: string) => void): void {
  if (!Array.isArray(list)) throw unlike(method, where);
  for (const [index, entry] of list.entries()) {
    const at = `${where}[${index}]`;
    check(objectAt(method, at, entry), at);
  }
}

function objectAt(method: string, where: string, value: unknown): JsonObject {
  if (isObject(value)) return value;
  throw new InvalidResultError(`The server answered ${method}: ${where} is not an object`);
}

function needString(method: string, where: string, value: JsonObject, key: string): void {
  if (typeof value[key] === 'string') return;
  throw new InvalidResultError(`The server answered ${method}: ${where}.${key} is not a string`);
}

/** The error for a result without its main property. */
export function unlike(method: string, property: string): InvalidResultError {
  return new InvalidResultError(`The server answered ${method} without ${property}`);
}
