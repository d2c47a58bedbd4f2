import { endOfString, hasMoreKeysAndValues } from '../../jsonrpc/bounds.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { CommandRefused } from './command-refused.ts';

/** No peer accepts a message with more. Each number takes a microsecond. */
const MAX_KEYS_AND_VALUES = 200_000;
/** The longest number, in characters. */
const MAX_NUMBER = 1000;
const NUMBER_HERE = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i;

/**
 * Parses what a user wrote.
 *
 * @param what the text is.
 * @throws CommandRefused if the text is not a JSON object, has too many keys and values for a message, or if a number in
 * it would be sent differently.
 */
export function exactObject(text: string, what: string): JsonObject {
  if (hasMoreKeysAndValues(text, MAX_KEYS_AND_VALUES))
    throw new CommandRefused(400, `The ${what} must not have more than ${MAX_KEYS_AND_VALUES} keys and values.`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new CommandRefused(400, `The ${what} must be JSON: ${(cause as Error).message}`, { cause });
  }
  if (!isObject(value)) throw new CommandRefused(400, `The ${what} must be a JSON object.`);
  for (const number of numbersIn(text)) {
    if (number.length > MAX_NUMBER)
      throw new CommandRefused(400, `A number must not have more than ${MAX_NUMBER} characters.`);
    if (!keepsValue(number))
      throw new CommandRefused(400, `The number ${number} would be sent as ${JSON.stringify(Number(number))}.`);
  }
  return value;
}

/** The numbers of a valid JSON text, as they are written. A loop, because a pattern has no memory for long strings. */
function* numbersIn(text: string): Generator<string> {
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '"') at = endOfString(text, at);
    NUMBER_HERE.lastIndex = at;
    const [number] = NUMBER_HERE.exec(text) ?? [];
    if (number === undefined) continue;
    yield number;
    at += number.length - 1;
  }
}

/** Whether a number keeps its value as a double. */
function keepsValue(literal: string): boolean {
  return decimal(literal) === decimal(String(Number(literal)));
}

/**
 * A canonical text of a number, equal for equal values: its sign, its digits without zeros around them, and its
 * exponent.
 */
function decimal(literal: string): string | undefined {
  const [, sign, whole, fraction = '', exponent = '0'] = NUMBER.exec(literal) ?? [];
  if (whole === undefined) return undefined;
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}
