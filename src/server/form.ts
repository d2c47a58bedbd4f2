import { isObject, isStrings, type JsonObject } from '../jsonrpc/message.ts';
import { anySchema, type AnySchema, type Schema } from './schema.ts';

/** The keywords that a form may use for each type (2026-07-28, client/elicitation: Requested Schema). */
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  string: ['minLength', 'maxLength', 'format'],
  number: ['minimum', 'maximum'],
  integer: ['minimum', 'maximum'],
  boolean: [],
};
const FORMATS: ReadonlySet<unknown> = new Set(['email', 'uri', 'date', 'date-time']);
/** Keywords that combine schemas. */
const COMBINING = [
  '$ref',
  '$dynamicRef',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'patternProperties',
  'dependentSchemas',
];

const forms = new WeakMap<object, Schema>();

/**
 * Converts a schema to the form of an elicitation, and checks the answer. A form cannot express patterns, other formats
 * or exclusive bounds: they are left out of the form, but still checked in the answer.
 *
 * @throws TypeError that names the property, if the schema is not a flat object of strings, numbers, integers, booleans
 * and choices.
 */
export function formOf(given: AnySchema): Schema {
  const known = isObject(given) || typeof given === 'function' ? forms.get(given) : undefined;
  if (known !== undefined) return known;
  const schema = anySchema(given, 'input', 'The form');
  const form: Schema = { json: formSchema(schema.json), validate: (value) => schema.validate(value) };
  forms.set(given, form);
  return form;
}

function formSchema(json: JsonObject): JsonObject {
  const { type, properties, required } = json;
  if (type !== 'object' || !isObject(properties))
    throw new TypeError('The schema of a form must have type "object" and "properties"');
  refuseCombining(json, 'The schema of a form');
  const fields = Object.entries(properties).map(([name, field]) => [name, fieldSchema(field, `Form property ${name}`)]);
  const form: JsonObject = { type: 'object', properties: Object.fromEntries(fields) };
  if (Array.isArray(required) && required.length > 0) {
    const unknown = required.map(String).find((name) => !Object.hasOwn(properties, name));
    if (unknown !== undefined) throw new TypeError(`Form property ${unknown} is required, but it is not in properties`);
    form['required'] = required;
  }
  return form;
}

function fieldSchema(field: unknown, owner: string): JsonObject {
  if (!isObject(field)) throw new TypeError(`${owner} has no schema`);
  const { type, title, description } = field;
  const head: JsonObject = {};
  if (typeof title === 'string') head['title'] = title;
  if (typeof description === 'string') head['description'] = description;
  if (type === 'array') return withDefault({ type, ...head, ...several(field, owner) }, field, owner);
  const choices = choicesOf(field, 'oneOf', owner);
  if (choices !== undefined) return withDefault({ type: 'string', ...head, ...choices }, field, owner);
  refuseCombining(field, owner);
  if (type === 'object')
    throw new TypeError(`${owner} is an object, but a form is flat: move the properties of the object into the form`);
  const keywords = typeof type === 'string' && Object.hasOwn(KEYWORDS, type) ? KEYWORDS[type] : undefined;
  if (keywords === undefined) {
    throw new TypeError(
      `${owner} must be a string, number, integer, boolean, a choice of strings or a list of such choices`,
    );
  }
  const shown: JsonObject = { type, ...head };
  for (const keyword of keywords) {
    const value: unknown = field[keyword];
    if (keyword === 'format' ? FORMATS.has(value) : isBound(value)) shown[keyword] = value;
  }
  return withDefault(shown, field, owner);
}

/** Schema libraries limit every integer to the safe integers of a double. These limits carry no information. */
function isBound(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) !== Number.MAX_SAFE_INTEGER;
}

/** A multiple choice of strings. */
function several(field: JsonObject, owner: string): JsonObject {
  const items: unknown = field['items'];
  const choices = isObject(items) ? choicesOf(items, 'anyOf', owner) : undefined;
  if (choices === undefined) throw new TypeError(`${owner} is a list, so its items must be a choice of strings`);
  const shown: JsonObject = { items: 'enum' in choices ? { type: 'string', enum: choices['enum'] } : choices };
  for (const keyword of ['minItems', 'maxItems']) {
    if (typeof field[keyword] === 'number') shown[keyword] = field[keyword];
  }
  return shown;
}

/**
 * Reads a choice of strings: `enum`, `const`, or `oneOf` or `anyOf` of constants. If all constants have titles, the
 * result uses the keyword in `titled`, else `enum`. Undefined if the schema is not a choice.
 */
function choicesOf(schema: JsonObject, titled: 'oneOf' | 'anyOf', owner: string): JsonObject | undefined {
  const { enum: listed, enumNames, oneOf, anyOf } = schema;
  const options = oneOf ?? anyOf;
  if (listed !== undefined) {
    if (!isStrings(listed) || listed.length === 0)
      throw new TypeError(`${owner}: the options of a choice must be strings`);
    const named = isStrings(enumNames) && enumNames.length === listed.length;
    return named ? { enum: listed, enumNames } : { enum: listed };
  }
  if (schema['const'] !== undefined) {
    if (typeof schema['const'] !== 'string') throw new TypeError(`${owner}: the options of a choice must be strings`);
    return { enum: [schema['const']] };
  }
  if (!Array.isArray(options) || options.length === 0) return undefined;
  const constants: JsonObject[] = options.map((option: unknown) => {
    const { const: value, title } = isObject(option) ? option : {};
    if (typeof value !== 'string') throw new TypeError(`${owner}: the options of a choice must be strings`);
    return typeof title === 'string' ? { const: value, title } : { const: value };
  });
  if (constants.every((constant) => 'title' in constant)) return { [titled]: constants };
  return { enum: constants.map((constant) => constant['const']) };
}

function withDefault(shown: JsonObject, field: JsonObject, owner: string): JsonObject {
  const value: unknown = field['default'];
  if (value === undefined) return shown;
  if (!fits(value, shown['type'])) throw new TypeError(`${owner}: its default has the wrong type`);
  return { ...shown, default: value };
}

function fits(value: unknown, type: unknown): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return isStrings(value);
    default:
      return typeof value === type;
  }
}

function refuseCombining(schema: JsonObject, owner: string): void {
  const keyword = COMBINING.find((one) => schema[one] !== undefined);
  if (keyword !== undefined) throw new TypeError(`${owner} has ${keyword}, which forms do not support`);
}
