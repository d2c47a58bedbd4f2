import { isPeerUrl } from '../base/peer-url.ts';
import { define } from '../base/define.ts';
import { shortText } from '../base/short-text.ts';
import { filledIn } from '../client/form-answer.ts';
import type { FormRequest } from '../client/handlers.ts';
import { isObject, stringsIn, type JsonObject } from '../jsonrpc/message.ts';
import type { ElicitResult } from '../protocol/types.ts';
import { yesOrNo, type Prompter } from './prompter.ts';
import { indentedStart, oneLine } from './screen.ts';

/** How many choices of a field are listed. The user can type the others, too. */
const MAX_CHOICES = 100;

/** The value of a field. */
type Value = string | number | boolean | string[];

interface Choice {
  readonly value: string;
  readonly title: string;
}

/** What the user typed for a field: a value, nothing (for an optional field), or a word that leaves the form. */
type Typed = { readonly value: Value } | 'nothing' | 'decline' | 'cancel';

/**
 * Asks the user for the fields of a form, one after another (2026-07-28, client/elicitation: Form Mode Elicitation
 * Requests). Then asks whether to send them. `e` goes through the fields again and keeps the typed values. `!decline`
 * declines at any time. `!cancel` or the end of the input cancels.
 *
 * @param server the server that asks, by the user's name for it.
 * @throws the signal's reason if it fires first.
 */
export async function fillIn(
  prompter: Prompter,
  server: string,
  request: FormRequest,
  signal: AbortSignal,
): Promise<ElicitResult> {
  const { properties, required } = request.requestedSchema;
  const fields = Object.entries<unknown>(isObject(properties) ? properties : {});
  const needed = stringsIn(required);
  prompter.print(`${oneLine(server)} asks: ${indentedStart(request.message)}`);
  if (fields.length > 0) prompter.print('(type !decline to decline, !cancel or Ctrl-D to dismiss the question)');
  let content: Record<string, Value> = {};
  for (let again = false; ; again = true) {
    if (again) prompter.print('(Enter keeps the value shown, !clear removes it)');
    const before = content;
    content = {};
    for (const [name, schema] of fields) {
      const shape = isObject(schema) ? schema : {};
      const shown = again ? Object.getOwnPropertyDescriptor(before, name)?.value : shape['default'];
      const typed = await askField(prompter, name, shape, shown as Value | undefined, needed.has(name), signal);
      if (typed === 'decline' || typed === 'cancel') return { action: typed };
      if (typed !== 'nothing') define(content, name, typed.value);
    }
    const answer = await review(prompter, fields.length > 0, signal);
    if (answer === 'accept') return { action: 'accept', content };
    if (answer !== 'edit') return { action: answer };
  }
}

/** Whether to send the values. The user can review and change them first (2025-11-25, client/elicitation). */
async function review(
  prompter: Prompter,
  filled: boolean,
  signal: AbortSignal,
): Promise<ElicitResult['action'] | 'edit'> {
  for (;;) {
    const line = await prompter.ask(filled ? 'Send this? [Y/n, e to edit] ' : 'Agree? [Y/n] ', signal);
    if (line === undefined) return 'cancel';
    const answer = yesOrNo(line) ?? (line.trim() === '' ? true : undefined);
    if (answer !== undefined) return answer ? 'accept' : 'decline';
    if (filled && /^\s*e(dit)?\s*$/i.test(line)) return 'edit';
    prompter.print(filled ? 'Please answer yes, no or edit.' : 'Please answer yes or no.');
  }
}

async function askField(
  prompter: Prompter,
  name: string,
  schema: JsonObject,
  preset: Value | undefined,
  required: boolean,
  signal: AbortSignal,
): Promise<Typed> {
  const choices = choicesOf(schema);
  const label = oneLine(typeof schema['title'] === 'string' ? schema['title'] : name);
  if (typeof schema['description'] === 'string') prompter.print(`  ${oneLine(schema['description'])}`);
  for (const [index, { value, title }] of choices.slice(0, MAX_CHOICES).entries()) {
    const words = shortText(oneLine(title));
    prompter.print(`  ${index + 1}) ${words}${title === value ? '' : ` (${shortText(oneLine(value))})`}`);
  }
  if (choices.length > MAX_CHOICES) prompter.print(`  and ${choices.length - MAX_CHOICES} more`);
  const shown = preset === undefined ? '' : ` [${oneLine(String(preset))}]`;
  const prompt = `  ${label} (${kindOf(schema, choices)}${required ? '' : ', optional'})${shown}: `;
  for (;;) {
    const line = await prompter.ask(prompt, signal);
    if (line === undefined || line.trim() === '!cancel') return 'cancel';
    if (line.trim() === '!decline') return 'decline';
    if (line.trim() === '!clear' && !required) return 'nothing';
    if (line.trim() === '') {
      if (preset !== undefined) return { value: preset };
      if (!required) return 'nothing';
      prompter.print(`  ${label} is required${schema['type'] === 'string' ? '; enter "" for an empty text' : ''}.`);
      continue;
    }
    try {
      return { value: await read(line, schema, choices, label) };
    } catch (error) {
      prompter.print(`  ${(error as Error).message}.`);
    }
  }
}

/** Converts the typed text to the field's value. @throws TypeError that says what is wrong with it. */
async function read(line: string, schema: JsonObject, choices: readonly Choice[], label: string): Promise<Value> {
  const value = convert(line.trim(), schema, choices, label);
  await filledIn({ properties: { [label]: schema } }, { [label]: value });
  const format = FORMATS.get(schema['format']);
  if (format && typeof value === 'string' && !format.fits(value))
    throw new TypeError(`${label} must be ${format.what}`);
  return value;
}

function convert(text: string, schema: JsonObject, choices: readonly Choice[], label: string): Value {
  switch (schema['type']) {
    case 'array':
      return text
        .split(',')
        .map((word) => word.trim())
        .filter((word) => word !== '')
        .map((word) => choose(word, choices, label));
    case 'boolean': {
      const answer = yesOrNo(text);
      if (answer === undefined) throw new TypeError(`${label} must be yes or no`);
      return answer;
    }
    case 'integer':
    case 'number': {
      const value = Number(text);
      if (!Number.isFinite(value)) throw new TypeError(`${label} must be a number`);
      return value;
    }
    default:
      if (choices.length > 0) return choose(text, choices, label);
      return text === '""' ? '' : text;
  }
}

/** Finds a choice by its value, its number in the list, or its title. */
function choose(word: string, choices: readonly Choice[], label: string): string {
  const found =
    choices.find(({ value }) => value === word) ??
    (/^\d+$/.test(word) ? choices[Number(word) - 1] : undefined) ??
    choices.find(({ title }) => title.toLowerCase() === word.toLowerCase());
  if (!found) throw new TypeError(`${label}: ${JSON.stringify(word)} is not one of the choices`);
  return found.value;
}

/** The choices of a field. They may have titles, no titles, or titles in the 2025-06-18 form. */
function choicesOf(schema: JsonObject): Choice[] {
  const source: JsonObject = isObject(schema['items']) ? schema['items'] : schema;
  const titled: unknown = source['oneOf'] ?? source['anyOf'];
  if (Array.isArray(titled)) {
    return titled.filter(isObject).map((choice) => {
      const value = String(choice['const']);
      return { value, title: typeof choice['title'] === 'string' ? choice['title'] : value };
    });
  }
  const { enum: listed, enumNames: names } = source;
  if (!Array.isArray(listed)) return [];
  return listed.map(String).map((value, index) => {
    const title: unknown = Array.isArray(names) ? names[index] : undefined;
    return { value, title: typeof title === 'string' ? title : value };
  });
}

function kindOf(schema: JsonObject, choices: readonly Choice[]): string {
  const { type, format, minimum, maximum, minLength, maxLength, minItems, maxItems } = schema;
  if (type === 'array') return `several, with commas${range(minItems, maxItems)}`;
  if (choices.length > 0) return 'one of these';
  if (type === 'boolean') return 'yes or no';
  if (type === 'integer') return `whole number${range(minimum, maximum)}`;
  if (type === 'number') return `number${range(minimum, maximum)}`;
  const kind = typeof format === 'string' ? oneLine(format) : 'text';
  const length = range(minLength, maxLength);
  return length === '' ? kind : `${kind}${length} characters`;
}

function range(least: unknown, most: unknown): string {
  if (typeof least === 'number' && typeof most === 'number') return `, ${least} to ${most}`;
  if (typeof least === 'number') return `, at least ${least}`;
  return typeof most === 'number' ? `, at most ${most}` : '';
}

/** The formats that are checked, each with what a text must be. */
const FORMATS: ReadonlyMap<unknown, { readonly fits: (text: string) => boolean; readonly what: string }> = new Map([
  ['email', { fits: (text) => /^[^\s@]+@[^\s@]+$/.test(text), what: 'an email address' }],
  ['uri', { fits: (text) => isPeerUrl(text), what: 'a URI, such as https://example.com' }],
  ['date', { fits: isDay, what: 'a date, such as 2026-07-28' }],
  ['date-time', { fits: isTime, what: 'a date and time, such as 2026-07-28T12:00:00Z' }],
]);

const DATE_TIME = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

function isTime(text: string): boolean {
  return DATE_TIME.test(text) && isDay(text.slice(0, 10)) && !Number.isNaN(Date.parse(text));
}

/** Whether a text is a date that exists. `Date` alone accepts 31 February and reads it as a day in March. */
function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}
