import { encodeUtf8 } from '../base/bytes.ts';
import { printableMessage } from '../base/printable.ts';
import { decodeUtf8 } from '../base/utf8.ts';
import { excessOf, hasMoreUnpairedSurrogates } from './bounds.ts';
import { ErrorCode, RpcError } from './errors.ts';
import {
  errorResponse,
  isObject,
  isRequestId,
  type ErrorResponse,
  type JsonObject,
  type Message,
  type RequestId,
} from './message.ts';
import { MAX_SEARCHED, MessageSkim } from './skim.ts';

/**
 * How deep the values of a message may be nested. `JSON.parse` accepts millions of levels, but `JSON.stringify` and
 * every recursive function would overflow the stack.
 */
const MAX_DEPTH = 1000;
/**
 * How many keys and values a message may have in total. Millions of small values fit into 16 MiB, and `JSON.parse`
 * takes seconds for them. Keys count, because they take as long as values: each new one changes the shape of its
 * object.
 */
const MAX_KEYS_AND_VALUES = 200_000;
/** How many unpaired surrogates a message may escape. `JSON.stringify` takes a quarter of a second for 16 MiB of them. */
const MAX_UNPAIRED_SURROGATES = 200_000;
/**
 * How many long numbers a message may have, as `excessOf` counts them. `JSON.parse` takes 1 µs for some of them, and `JSON.stringify`
 * 2 µs, ten times as long as for other numbers.
 */
const MAX_LONG_NUMBERS = 50_000;
/**
 * How many members `params`, `result` and the `_meta` in them may have. They are copied several times while a message
 * is processed, which takes long for a large object.
 */
const MAX_MEMBERS = 1000;

/** A JSON text that is not a valid JSON-RPC message. `id` is the id for the error response, if it could be read. */
export class InvalidMessage extends RpcError {
  readonly id: RequestId | undefined;
  /**
   * The error response to deliver in its place, so that the request that waits for a response fails. Undefined if it
   * cannot have been meant as a response.
   */
  readonly failure: ErrorResponse | undefined;

  constructor(code: number, message: string, id?: RequestId, cause?: unknown, failure?: ErrorResponse) {
    // It may quote the invalid text.
    super(code, printableMessage(message), { cause });
    this.id = id;
    this.failure = failure;
  }
}

/**
 * An invalid response. It never gets an error response with its id: the peer would take that for the response to its
 * own request with the same id.
 */
export class InvalidResponse extends InvalidMessage {
  constructor(why: string, id: RequestId | undefined) {
    const message = `Invalid response: ${why}`;
    super(ErrorCode.InvalidRequest, message, undefined, undefined, failureOf(message, id));
  }
}

function failureOf(message: string, id: RequestId | undefined): ErrorResponse | undefined {
  return id === undefined ? undefined : errorResponse(id, { code: ErrorCode.InvalidRequest, message });
}

/**
 * Decodes and parses one JSON text.
 *
 * @throws InvalidMessage with code −32700 if it is not UTF-8 (MCP, transports: messages MUST be UTF-8) or not JSON.
 * With −32600, and the id of the message if it can be read, if the message is nested deeper than 1000 values, or holds
 * more than 200,000 keys and values, 200,000 unpaired surrogates, or 50,000 numbers with more than 32 characters or with three digits in the
 * exponent.
 */
export function parseJson(text: Uint8Array | string): unknown {
  if (typeof text !== 'string') {
    const decoded = decodeUtf8(text);
    if (decoded === undefined) throw new InvalidMessage(ErrorCode.ParseError, 'Parse error: not valid UTF-8');
    text = decoded;
  }
  // Each level has two brackets, and each key or value at least one character.
  // Stryker disable next-line ConditionalExpression,EqualityOperator,ArithmeticOperator: a shorter text is within the limits, so this only saves time
  const excess =
    text.length > 2 * MAX_DEPTH ? excessOf(text, MAX_DEPTH, MAX_KEYS_AND_VALUES, MAX_LONG_NUMBERS) : undefined;
  if (excess === 'keys and values') {
    throw unparsed(text, `a message must not have more than ${MAX_KEYS_AND_VALUES} keys and values`);
  }
  if (excess === 'numbers') {
    const what = 'numbers with more than 32 characters or with three digits in the exponent';
    throw unparsed(text, `a message must not have more than ${MAX_LONG_NUMBERS} ${what}`);
  }
  if (hasMoreUnpairedSurrogates(text, MAX_UNPAIRED_SURROGATES)) {
    throw unparsed(text, `a message must not have more than ${MAX_UNPAIRED_SURROGATES} unpaired surrogates`);
  }
  const value = parse(text);
  if (excess === 'depth') {
    const why = `a message must not be nested deeper than ${MAX_DEPTH} values`;
    throw isObject(value) ? wrong(value, why) : invalidRequest(why);
  }
  return value;
}

/** The refusal of a message that is not parsed. */
function unparsed(text: string, why: string): InvalidMessage {
  const skim = new MessageSkim(MAX_SEARCHED);
  skim.push(encodeUtf8(text));
  const { id, hasMethod } = skim.envelope;
  return hasMethod || id === undefined ? invalidRequest(why, id) : new InvalidResponse(why, id);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new InvalidMessage(
      ErrorCode.ParseError,
      `Parse error: not valid JSON (${(cause as Error).message})`,
      undefined,
      cause,
    );
  }
}

/**
 * Checks that a parsed value is one JSON-RPC message and returns it as such, unchanged.
 *
 * @throws InvalidMessage with code −32600, that says what is wrong with it. InvalidResponse if it has a result or an
 * error, and no method.
 */
export function checkMessage(value: unknown): Message {
  if (!isObject(value)) throw invalidRequest('a message must be a JSON object');
  const { id, method, params } = value;
  const hasId = id !== undefined;
  if (value['jsonrpc'] !== '2.0') throw wrong(value, '"jsonrpc" must be "2.0"');
  if (hasId && !isRequestId(id)) {
    // An error response to a request that was never understood may carry a null id (JSON-RPC 2.0, section 5).
    if (id === null && method === undefined && isError(value['error'])) {
      const { id: _null, ...response } = value;
      return response as Message;
    }
    throw wrong(value, '"id" must be a string or an integer below 2^53');
  }
  if (method !== undefined) {
    if (typeof method !== 'string') throw wrong(value, '"method" must be a string');
    if (params !== undefined && !isObject(params)) throw wrong(value, '"params" must be an object');
    if (isWide(params)) throw wrong(value, tooWide('params'));
    return value as Message;
  }
  const hasResult = value['result'] !== undefined;
  const hasError = value['error'] !== undefined;
  if (hasResult === hasError) throw wrong(value, 'a message needs a "method", or exactly one of "result" and "error"');
  if (hasResult) {
    if (!hasId) throw wrong(value, 'a result must carry the "id" of its request');
    if (!isObject(value['result'])) throw wrong(value, '"result" must be an object');
    if (isWide(value['result'])) throw wrong(value, tooWide('result'));
  } else if (!isError(value['error'])) {
    throw wrong(value, '"error" must have an integer "code" and a string "message"');
  }
  return value as Message;
}

function isWide(value: JsonObject | undefined): boolean {
  if (value === undefined) return false;
  const { _meta: meta } = value;
  return Object.keys(value).length > MAX_MEMBERS || (isObject(meta) && Object.keys(meta).length > MAX_MEMBERS);
}

function tooWide(name: string): string {
  return `"${name}" and its "_meta" may not have more than ${MAX_MEMBERS} members each`;
}

function isError(value: unknown): boolean {
  return isObject(value) && Number.isInteger(value['code']) && typeof value['message'] === 'string';
}

function wrong(value: JsonObject, why: string): InvalidMessage {
  const id = isRequestId(value['id']) ? value['id'] : undefined;
  if (value['method'] !== undefined) return invalidRequest(why, id);
  if ('result' in value || 'error' in value) return new InvalidResponse(why, id);
  const failure = failureOf(`Invalid response: ${why}`, id);
  return new InvalidMessage(ErrorCode.InvalidRequest, `Invalid request: ${why}`, id, undefined, failure);
}

/**
 * The refusal of a message, with code −32600.
 *
 * @param id the id for the error response, if it is known and no other request has it.
 */
export function invalidRequest(why: string, id?: RequestId): InvalidMessage {
  return new InvalidMessage(ErrorCode.InvalidRequest, `Invalid request: ${why}`, id);
}
