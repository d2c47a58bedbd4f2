import { isUtf8 } from 'node:buffer';
import { ErrorCode, RpcError } from './errors.ts';
import { isObject, isRequestId, type Message, type RequestId } from './message.ts';

/** A JSON text that is no acceptable JSON-RPC message. `id` is the id to answer under, where one could be read. */
export class InvalidMessage extends RpcError {
  readonly id: RequestId | undefined;

  constructor(code: number, message: string, id?: RequestId, cause?: unknown) {
    super(code, message, { cause });
    this.id = id;
  }
}

/**
 * Decodes and parses one JSON text.
 *
 * @throws InvalidMessage with code −32700 where it is not UTF-8 (MCP, transports: messages MUST be UTF-8) or not JSON.
 */
export function parseJson(text: Uint8Array | string): unknown {
  if (typeof text !== 'string') {
    if (!isUtf8(text)) throw new InvalidMessage(ErrorCode.ParseError, 'Parse error: not valid UTF-8');
    const bytes = Buffer.isBuffer(text) ? text : Buffer.from(text.buffer, text.byteOffset, text.byteLength);
    text = bytes.toString();
  }
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
 * @throws InvalidMessage with code −32600, naming what is wrong with it.
 */
export function checkMessage(value: unknown): Message {
  if (!isObject(value)) throw invalid('a message must be a JSON object');
  const { id, method, params } = value;
  const hasId = id !== undefined;
  const readableId = isRequestId(id) ? id : undefined;
  if (value['jsonrpc'] !== '2.0') throw invalid('"jsonrpc" must be "2.0"', readableId);
  if (hasId && readableId === undefined) {
    // An error response to a request that was never understood may carry a null id (JSON-RPC 2.0, section 5).
    if (id === null && method === undefined && isError(value['error'])) {
      const { id: _null, ...response } = value;
      return response as Message;
    }
    throw invalid('"id" must be a string or an integer below 2^53');
  }
  if (method !== undefined) {
    if (typeof method !== 'string') throw invalid('"method" must be a string', readableId);
    if (params !== undefined && !isObject(params)) throw invalid('"params" must be an object', readableId);
    return value as Message;
  }
  const hasResult = value['result'] !== undefined;
  const hasError = value['error'] !== undefined;
  if (hasResult === hasError) {
    throw invalid('a message needs a "method", or exactly one of "result" and "error"', readableId);
  }
  if (hasResult) {
    if (!hasId) throw invalid('a result must carry the "id" of its request');
    if (!isObject(value['result'])) throw invalid('"result" must be an object', readableId);
  } else if (!isError(value['error'])) {
    throw invalid('"error" must have an integer "code" and a string "message"', readableId);
  }
  return value as Message;
}

function isError(value: unknown): boolean {
  return isObject(value) && Number.isInteger(value['code']) && typeof value['message'] === 'string';
}

function invalid(why: string, id?: RequestId): InvalidMessage {
  return new InvalidMessage(ErrorCode.InvalidRequest, `Invalid request: ${why}`, id);
}
