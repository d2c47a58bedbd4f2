import type { Exchange } from './exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { decodeHeaderValue } from '../protocol/header-value.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import { argumentAt, type ParamHeader } from '../protocol/param-headers.ts';
import { Refusal } from './refusal.ts';

const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * Checks that the headers of a call match its arguments, over HTTP in revisions with these headers.
 *
 * @throws Refusal −32020 if a header is missing, malformed or different, or is sent for an absent or null argument
 * (2026-07-28, basic/transports/streamable-http: Server Behavior for Custom Headers). The message contains no values.
 */
export function checkParamHeaders(headers: readonly ParamHeader[], args: JsonObject, exchange: Exchange): void {
  if (exchange.header === undefined || REVISIONS[exchange.caller.revision].era !== 'modern') return;
  for (const header of headers) {
    const { name, key, path } = header;
    const argument = `the argument ${path.join('.')}`;
    const value = argumentAt(args, header);
    const sent = exchange.header(key);
    if (value === undefined || value === null) {
      if (sent !== undefined) throw Refusal.header(`${name} was sent, but ${argument} was not`);
      continue;
    }
    if (sent === undefined) throw Refusal.header(`${name} is missing; it must say what ${argument} says`);
    const said = decodeHeaderValue(sent);
    if (said === undefined) throw Refusal.header(`${name} is malformed: neither plain ASCII nor =?base64?…?= of UTF-8`);
    if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value))
      throw Refusal.header(`${argument} is beyond the integers that ${name} can carry`);
    if (!says(said, value)) throw Refusal.header(`${name} does not match ${argument}`);
  }
}

/** Numbers are compared as numbers: `42.0` is 42 (2026-07-28, basic/transports/streamable-http: Server Validation). */
function says(said: string, value: unknown): boolean {
  switch (typeof value) {
    case 'string':
      return said === value;
    case 'number':
      return NUMBER.test(said) && Number(said) === value;
    case 'boolean':
      return said === String(value);
    default:
      return false;
  }
}
