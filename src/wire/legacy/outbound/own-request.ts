import type { JsonObject } from '../../../jsonrpc/message.ts';

/** A request that a connection makes for itself, not for one caller. */
export interface OwnRequest {
  readonly result: Promise<JsonObject>;
  /** Cancels the request on the server too. Does nothing after the response. */
  cancel(reason: Error): void;
}

export type SendRequest = (method: string, params: JsonObject) => OwnRequest;
