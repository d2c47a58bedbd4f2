import { asText, shortJson } from '../../../base/short-text.ts';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import { isObject, stringsIn, type JsonObject } from '../../../jsonrpc/message.ts';
import { without } from '../../../jsonrpc/shape.ts';
import { wholeRoom, type Room } from './room.ts';

/** A form with plain fields only, and a function that converts its content back to the original form. */
export interface PlainForm {
  readonly schema: JsonObject;
  readonly restore: (content: JsonObject) => JsonObject;
}

/** A multiple choice, asked as one boolean field for each option. */
interface Several {
  readonly name: string;
  readonly required: boolean;
  /** Whether an empty selection is allowed. */
  readonly mayBeEmpty: boolean;
  /** The fields, each with the option that it represents. */
  readonly fields: readonly (readonly [field: string, value: string])[];
}

interface Option {
  readonly value: string;
  readonly title: string;
}

/**
 * Converts a form to the types that exist before 2025-11-25 (2025-06-18, client/elicitation: Requested Schema). A
 * choice with titles becomes `enum` with `enumNames`. A multiple choice becomes one boolean for each option. Only
 * booleans keep their default. The answers are converted back.
 *
 * @param room what the fields may take. They take it even if they do not fit.
 * @throws RpcError −32603 if a multiple choice lists no options, or if its fields become too many or too large.
 */
export function plainForm(schema: JsonObject, room: Room = wholeRoom()): PlainForm {
  const { properties, required } = schema;
  if (!isObject(properties)) return { schema, restore: (content) => content };
  const demanded = stringsIn(required);
  const names = new FieldNames(Object.keys(properties));
  const fields: [string, unknown][] = [];
  const choices: Several[] = [];
  for (const [name, field] of Object.entries<unknown>(properties)) {
    if (!isObject(field) || field['type'] !== 'array') {
      fields.push([name, isObject(field) ? plainField(field) : field]);
      continue;
    }
    const options = optionsOf(name, field);
    room.bytes -= lengthOf(name, field, options);
    room.fields -= options.length;
    if (room.bytes < 0 || room.fields < 0) {
      throw new RpcError(
        ErrorCode.InternalError,
        'elicitation/create was not sent: the options of its list fields are too many or too long for the revision of the client',
      );
    }
    const converted = booleans(name, field, options, names);
    for (const one of converted) fields.push(one);
    choices.push({
      name,
      required: demanded.has(name),
      mayBeEmpty: !(field['minItems'] > 0),
      fields: options.map(({ value }, index) => [converted[index]![0], value] as const),
    });
  }
  const chosen = new Set(choices.map(({ name }) => name));
  const left = [...demanded].filter((name) => !chosen.has(name));
  const plain: JsonObject = { ...schema, properties: Object.fromEntries(fields) };
  if (left.length > 0) plain['required'] = left;
  else delete plain['required'];
  return { schema: plain, restore: (content) => putTogether(content, choices) };
}

function plainField(field: JsonObject): JsonObject {
  const shown = field['type'] === 'boolean' ? field : without(field, ['default']);
  const options = titled(shown['oneOf']);
  if (options === undefined) return shown;
  const { oneOf: _options, ...rest } = shown;
  return { ...rest, enum: options.map(({ value }) => value), enumNames: options.map(({ title }) => title) };
}

/** One boolean field for each option, with a name and title that show the question and the option. */
function booleans(
  name: string,
  field: JsonObject,
  options: readonly Option[],
  names: FieldNames,
): [string, JsonObject][] {
  const { title = name, description, default: chosen } = field;
  const preset = Array.isArray(chosen) ? stringsIn(chosen) : undefined;
  return options.map((option) => {
    const own = names.free(`${name}.${option.value}`);
    const shown: JsonObject = { type: 'boolean', title: `${asText(title)}: ${option.title}` };
    if (description !== undefined) shown['description'] = description;
    if (preset) shown['default'] = preset.has(option.value);
    return [own, shown];
  });
}

/** The length of the fields for the options of one list. */
function lengthOf(name: string, { title = name, description }: JsonObject, options: readonly Option[]): number {
  const shared =
    name.length + asText(title).length + (description === undefined ? 0 : JSON.stringify(description).length);
  return options.reduce((sum, option) => sum + shared + option.value.length + option.title.length, 0);
}

/** Names of fields that no other field has. */
class FieldNames {
  readonly #used: Set<string>;
  /** The next number to try for each name, so that many equal names do not try all numbers again. */
  readonly #next = new Map<string, number>();

  constructor(used: readonly string[]) {
    this.#used = new Set(used);
  }

  /** The name itself, or with a number if it is used already. */
  free(name: string): string {
    let free = name;
    let number = this.#next.get(name) ?? 2;
    for (; this.#used.has(free); number += 1) free = `${name}_${number}`;
    if (free !== name) this.#next.set(name, number);
    this.#used.add(free);
    return free;
  }
}

/** The options of a choice, without duplicates. */
function optionsOf(name: string, field: JsonObject): readonly Option[] {
  return [...new Map(listedOptions(name, field).map((option) => [option.value, option])).values()];
}

function listedOptions(name: string, { items }: JsonObject): readonly Option[] {
  const listed: unknown = isObject(items) ? items['enum'] : undefined;
  if (Array.isArray(listed)) return listed.map((value: unknown) => ({ value: asText(value), title: asText(value) }));
  const options = isObject(items) ? titled(items['anyOf'] ?? items['oneOf']) : undefined;
  if (options !== undefined) return options;
  throw new RpcError(
    ErrorCode.InternalError,
    `elicitation/create was not sent: the items of list field ${shortJson(name)} are not an enum`,
  );
}

/** Options with titles, each written as a schema (2025-11-25, client/elicitation: Requested Schema). */
function titled(options: unknown): readonly Option[] | undefined {
  if (!Array.isArray(options)) return undefined;
  return options.filter(isObject).map(({ const: value, title = value }) => {
    return { value: asText(value), title: asText(title) };
  });
}

function putTogether(content: JsonObject, choices: readonly Several[]): JsonObject {
  const own = new Set(choices.flatMap(({ fields }) => fields.map(([field]) => field)));
  const entries = Object.entries<unknown>(content).filter(([key]) => !own.has(key));
  for (const { name, required, mayBeEmpty, fields } of choices) {
    const answered = fields.some(([field]) => content[field] !== undefined);
    const chosen = fields.filter(([field]) => content[field] === true).map(([, value]) => value);
    // The field is optional but must not be empty. Nothing was selected, so leave the field out.
    if (chosen.length > 0 || required || (answered && mayBeEmpty)) entries.push([name, chosen]);
  }
  return Object.fromEntries(entries);
}
