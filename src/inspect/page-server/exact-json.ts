import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { CommandRefused } from './command-refused.ts';

/** The strings and numbers of a valid JSON text. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i;

/**
 * Parses what a user wrote.
 *
 * @param what the text is.
 * @throws CommandRefused if the text is not a JSON object, or if a number in it would be sent differently.
 */
export function exactObject(text: string, what: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new CommandRefused(400, `The ${what} must be JSON: ${(cause as Error).message}`, { cause });
  }
  if (!isObject(value)) throw new CommandRefused(400, `The ${what} must be a JSON object.`);
  for (const [token] of text.matchAll(TOKENS)) {
    if (token.startsWith('"') || keepsValue(token)) continue;
    throw new CommandRefused(400, `The number ${token} would be sent as ${JSON.stringify(Number(token))}.`);
  }
  return value;
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
