/** JSON-RPC 2.0 messages and the guards that tell them apart. No word of MCP here. */

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [key: string]: any };

/** A string or an integer; never null (MCP, basic: Requests). */
export type RequestId = string | number;

export interface Request {
  readonly jsonrpc: '2.0';
  readonly id: RequestId;
  readonly method: string;
  readonly params?: JsonObject;
}

export interface Notification {
  readonly jsonrpc: '2.0';
  readonly method: string;
  readonly params?: JsonObject;
}

export interface ResultResponse {
  readonly jsonrpc: '2.0';
  readonly id: RequestId;
  readonly result: JsonObject;
}

export interface ErrorObject {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export interface ErrorResponse {
  readonly jsonrpc: '2.0';
  /** Absent where the request was so malformed that its id could not be read. */
  readonly id?: RequestId;
  readonly error: ErrorObject;
}

export type Response = ResultResponse | ErrorResponse;
export type Message = Request | Notification | Response;

export function isRequest(message: Message): message is Request {
  return 'method' in message && 'id' in message;
}

export function isNotification(message: Message): message is Notification {
  return 'method' in message && !('id' in message);
}

export function isResponse(message: Message): message is Response {
  return !('method' in message);
}

/** Integers beyond 2^53 are not told apart by JSON.parse: an answer would go out under another id than the request had. */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value);
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function request(id: RequestId, method: string, params?: JsonObject): Request {
  return params === undefined ? { jsonrpc: '2.0', id, method } : { jsonrpc: '2.0', id, method, params };
}

export function notification(method: string, params?: JsonObject): Notification {
  return params === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params };
}

export function resultResponse(id: RequestId, result: JsonObject): ResultResponse {
  return { jsonrpc: '2.0', id, result };
}

/** An error response. Without an id it carries none: MCP forbids the null of plain JSON-RPC. */
export function errorResponse(id: RequestId | undefined, error: ErrorObject): ErrorResponse {
  return id === undefined ? { jsonrpc: '2.0', error } : { jsonrpc: '2.0', id, error };
}
