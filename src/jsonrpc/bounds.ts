import type { JsonObject } from './message.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;

/** Whether a parsed value has arrays and objects in more than so many levels. */
export function isDeeper(value: unknown, than: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (than === 0) return true;
  // Stryker disable next-line ConditionalExpression,BlockStatement: the loop below reads arrays too, but more slowly
  if (Array.isArray(value)) {
    // Stryker disable next-line ConditionalExpression: saves a call for each scalar value
    for (const element of value) if (typeof element === 'object' && isDeeper(element, than - 1)) return true;
    return false;
  }
  for (const key in value) {
    const member: unknown = (value as JsonObject)[key];
    // Stryker disable next-line ConditionalExpression: saves a call for each scalar value
    if (typeof member === 'object' && isDeeper(member, than - 1)) return true;
  }
  return false;
}

/** Whether a JSON text holds more than so many values. An empty array or object counts as two. */
export function hasMoreValues(text: string, than: number): boolean {
  let values = 1;
  // Stryker disable next-line EqualityOperator: there is no character at the end of a text
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COMMA || code === OPEN_LIST || code === OPEN_OBJECT) values += 1;
    if (values > than) return true;
  }
  return false;
}

/** The place of the quote that ends the string at `start`, or the end of the text. */
function endOfString(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1);
  if (quote === -1) return text.length;
  // Stryker disable next-line ConditionalExpression: saves reading a string that has no escapes
  if (text.charCodeAt(quote - 1) !== BACKSLASH) return quote;
  // Stryker disable next-line EqualityOperator: there is no character at the end of a text
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at += 1;
    else if (code === QUOTE) return at;
  }
  return text.length;
}
