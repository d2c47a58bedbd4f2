import { MAX_APP_MESSAGE } from '../../src/inspect/page-server/apps-api.ts';
import { isObject, type JsonObject, type RequestId } from '../../src/jsonrpc/message.ts';
import { structureWeight, weightOf } from '../../src/jsonrpc/weight.ts';

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
 * Reads a message of an app, as the frame around the app passes it on.
 *
 * @param data JSON text. Anything else stands for a message that is too large.
 * @returns `large` if it is too large, undefined if it is not a JSON-RPC message.
 */
export function readMessage(data: unknown): ReceivedMessage | 'large' | undefined {
  if (typeof data !== 'string' || data.length > MAX_APP_MESSAGE) return 'large';
  // To parse such a text may take a second.
  if (structureWeight(data) > MAX_APP_MESSAGE) return 'large';
  let message: unknown;
  try {
    message = JSON.parse(data);
  } catch {
    return undefined;
  }
  if (weightOf(message, MAX_APP_MESSAGE) > MAX_APP_MESSAGE) return 'large';
  if (!isObject(message) || message['jsonrpc'] !== '2.0') return undefined;
  const { id, method, params } = message as Readonly<Record<string, unknown>>;
  const isId = typeof id === 'string' || typeof id === 'number';
  if (method === undefined ? !isId : typeof method !== 'string' || (id !== undefined && !isId)) return undefined;
  return {
    text: data,
    ...(isId && { id }),
    method: method as string | undefined,
    params: isObject(params) ? params : {},
  };
}
