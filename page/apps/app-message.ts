import { isObject, type JsonObject, type RequestId } from '../../src/jsonrpc/message.ts';
import { weightOf } from '../../src/jsonrpc/weight.ts';

/** The largest message of an app. Bytes of memory, estimated. */
export const MAX_MESSAGE = 4 * 1024 * 1024;

/** A message of an app. */
export interface ReceivedMessage {
  /** As it is recorded. */
  readonly text: string;
  readonly id?: RequestId | undefined;
  /** Undefined for a response. */
  readonly method?: string | undefined;
  readonly params: JsonObject;
}

/**
 * Reads what an app sent, which may be anything that can be cloned.
 *
 * @returns `large` if it is too large, undefined if it is not a JSON-RPC message.
 */
export function readMessage(data: unknown): ReceivedMessage | 'large' | undefined {
  // A cyclic value has no end.
  if (weightOf(data, MAX_MESSAGE) > MAX_MESSAGE) return 'large';
  let text: string;
  let message: unknown;
  try {
    // The same value without what JSON does not have.
    text = JSON.stringify(data) ?? '';
    message = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(message) || message['jsonrpc'] !== '2.0') return undefined;
  const { id, method, params } = message as Readonly<Record<string, unknown>>;
  const isId = typeof id === 'string' || typeof id === 'number';
  if (method === undefined ? !isId : typeof method !== 'string' || (id !== undefined && !isId)) return undefined;
  return { text, ...(isId && { id }), method: method as string | undefined, params: isObject(params) ? params : {} };
}
