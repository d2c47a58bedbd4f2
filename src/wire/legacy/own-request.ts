import type { JsonObject } from '../../jsonrpc/message.ts';

/** A request that a connection makes for itself, and not for one caller. */
export interface OwnRequest {
  readonly result: Promise<JsonObject>;
  /** Nobody waits for the answer any more: the server is told. Does nothing once it is answered. */
  cancel(reason: Error): void;
}

export type SendRequest = (method: string, params: JsonObject) => OwnRequest;
