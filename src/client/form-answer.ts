import { isObject, type JsonObject } from '../jsonrpc/message.ts';

/**
 * The values of a form, with defaults for the fields that were left out (2026-07-28, client/elicitation: Requested
 * Schema).
 *
 * @throws TypeError that names the first field that does not match the form.
 */
export function filledIn(form: unknown, given: unknown): JsonObject {
  if (given !== undefined && !isObject(given)) throw new TypeError('content must be an object');
  const fields = isObject(form) && isObject(form['properties']) ? form['properties'] : {};
  const content: JsonObject = { ...given };
  for (const [name, field] of Object.entries<unknown>(fields)) {
    if (!isObject(field)) continue;
    if (!Object.hasOwn(content, name) || content[name] === undefined) {
      delete content[name];
      if (field['default'] !== undefined) define(content, name, field['default']);
    }
    if (Object.hasOwn(content, name)) check(field, content[name], name);
  }
  const required: unknown = isObject(form) ? form['required'] : undefined;
  for (const name of Array.isArray(required) ? required : []) {
    if (!Object.hasOwn(content, String(name))) throw new TypeError(`${name} is missing`);
  }
  return content;
}

/** Defines an own property, so that `__proto__` is safe. */
function define(owner: JsonObject, name: string, value: unknown): void {
  Object.defineProperty(owner, name, { value, enumerable: true, configurable: true, writable: true });
}

function check(field: JsonObject, value: unknown, name: string): void {
  const { type } = field;
  if (type === 'array') return checkSeveral(field, value, name);
  const fits = type === 'integer' ? Number.isInteger(value) : typeof value === type;
  if (typeof type === 'string' && !fits) throw new TypeError(`${name} must be of type ${type}`);
  checkChoice(field, [value], name);
  if (typeof value === 'string') checkBounds(field, 'Length', Array.from(value).length, `${name}: its length`);
  if (typeof value === 'number') checkBounds(field, 'imum', value, name);
}

function checkSeveral(field: JsonObject, value: unknown, name: string): void {
  if (!Array.isArray(value)) throw new TypeError(`${name} must be a list`);
  checkBounds(field, 'Items', value.length, `${name}: the number of its items`);
  if (!value.every((item) => typeof item === 'string')) throw new TypeError(`${name} must be a list of strings`);
  const items: unknown = field['items'];
  if (isObject(items)) checkChoice(items, value, name);
}

function checkChoice(field: JsonObject, values: readonly unknown[], name: string): void {
  const titled: unknown = field['oneOf'] ?? field['anyOf'];
  const choices: unknown = Array.isArray(titled)
    ? titled.map((choice: unknown) => (isObject(choice) ? choice['const'] : undefined))
    : field['enum'];
  if (!Array.isArray(choices)) return;
  const known = new Set<unknown>(choices);
  if (!values.every((value) => known.has(value))) {
    throw new TypeError(`${name} must be one of ${JSON.stringify(choices)}`);
  }
}

function checkBounds(field: JsonObject, bound: 'Length' | 'Items' | 'imum', value: number, what: string): void {
  const { [`min${bound}`]: least, [`max${bound}`]: most } = field;
  if (typeof least === 'number' && value < least) throw new TypeError(`${what} must be at least ${least}`);
  if (typeof most === 'number' && value > most) throw new TypeError(`${what} must be at most ${most}`);
}
