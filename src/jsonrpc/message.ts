/** JSON-RPC 2.0 messages and their type guards. Nothing here is specific to MCP. */

/** Any JSON. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
/** A JSON object. Its reader must check the members. */
export type JsonObject = { [key: string]: any };

/** A string or an integer; never null (MCP, basic: Requests). */
export type RequestId = string | number;

/** Asks for a response. */
export interface Request {
  readonly jsonrpc: '2.0';
  readonly id: RequestId;
  readonly method: string;
  readonly params?: JsonObject;
}

/** Asks for nothing. */
export interface Notification {
  readonly jsonrpc: '2.0';
  readonly method: string;
  readonly params?: JsonObject;
}

/** Answers a request. */
export interface ResultResponse {
  readonly jsonrpc: '2.0';
  readonly id: RequestId;
  readonly result: JsonObject;
}

/** Why a request failed (JSON-RPC 2.0, section 5.1). */
export interface ErrorObject {
  /** An integer; `ErrorCode` and `McpErrorCode` have the known ones. */
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** Answers a request that failed. */
export interface ErrorResponse {
  readonly jsonrpc: '2.0';
  /** Absent if the request was so malformed that its id could not be read. */
  readonly id?: RequestId;
  readonly error: ErrorObject;
}

/** Answers a request. */
export type Response = ResultResponse | ErrorResponse;
/** One message, never a batch. */
export type Message = Request | Notification | Response;

/** Whether a message asks for a response. */
export function isRequest(message: Message): message is Request {
  return 'method' in message && 'id' in message;
}

/** Whether a message asks for no response. */
export function isNotification(message: Message): message is Notification {
  return 'method' in message && !('id' in message);
}

/** Whether a message answers a request. */
export function isResponse(message: Message): message is Response {
  return !('method' in message);
}

/**
 * Whether a value is a valid request id: a string, or an integer up to 2^53. `JSON.parse` rounds larger integers, so
 * the response would have a different id than the request.
 */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value);
}

/** Whether a value is an object and not an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value is a list of strings. */
export function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

/**
 * The strings in a list of a peer. Empty if it is not a list. Other values are left out: V8 hashes numbers without a
 * seed, so a peer could choose thousands with the same hash, and a set of them would take minutes.
 */
export function stringsIn(list: unknown): Set<string> {
  return new Set(Array.isArray(list) ? list.filter((each) => typeof each === 'string') : []);
}

/** Makes a request. */
export function request(id: RequestId, method: string, params?: JsonObject): Request {
  return params === undefined ? { jsonrpc: '2.0', id, method } : { jsonrpc: '2.0', id, method, params };
}

/** Makes a notification. */
export function notification(method: string, params?: JsonObject): Notification {
  return params === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params };
}

/** Makes the response to a request that succeeded. */
export function resultResponse(id: RequestId, result: JsonObject): ResultResponse {
  return { jsonrpc: '2.0', id, result };
}

/**
 * Makes the response to a request that failed. Without an id it carries none: MCP forbids the null of plain JSON-RPC.
 */
export function errorResponse(id: RequestId | undefined, error: ErrorObject): ErrorResponse {
  return id === undefined ? { jsonrpc: '2.0', error } : { jsonrpc: '2.0', id, error };
}
