import type { JsonObject } from '../../../jsonrpc/message.ts';

/** A request that a connection makes for itself, not for one caller. */
export interface OwnRequest {
  readonly result: Promise<JsonObject>;
  /** Tells the server that nothing waits for the response any more. Does nothing after the response. */
  cancel(reason: Error): void;
}

export type SendRequest = (method: string, params: JsonObject) => OwnRequest;
