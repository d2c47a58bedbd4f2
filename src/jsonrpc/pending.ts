import { FewPerTurn } from '../base/few-per-turn.ts';
import { printableError } from '../base/printable.ts';
import { RpcError } from './errors.ts';
import { IdTable } from './id-table.ts';
import type { JsonObject, Request, RequestId, Response } from './message.ts';
import { Deadline, type TimeLimits } from '../base/deadline.ts';
import { quoting, shortJson } from '../base/short-text.ts';

interface Entry {
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (error: Error) => void;
  readonly deadline: Deadline;
}

/** The code that the official SDKs use for a request that timed out (implementation-defined range). */
export const REQUEST_TIMEOUT = -32001;
/** The code that the official SDKs use for a request whose connection was closed (implementation-defined range). */
export const CONNECTION_CLOSED = -32000;

/** The error of requests whose connection has closed. @param cause the reason, if it is known. */
export function connectionClosed(cause?: Error): RpcError {
  const message = cause ? `Connection closed: ${cause.message}` : 'Connection closed';
  return new RpcError(CONNECTION_CLOSED, message, { cause });
}

/** The error to report for a response that no request waits for. */
export function unexpectedResponse(response: Response): Error {
  const what = 'error' in response ? `: ${response.error.message}` : '';
  return printableError(`A response came for ${shortJson(response.id)}, but no request with this id is open${what}`);
}

/**
 * The requests that one side of a connection has sent and that wait for a response. `open` adds a request. `settle`,
 * `cancel` and `close` remove it.
 */
export class PendingRequests {
  /** Created with the first request, because most server connections send none. */
  #entries: IdTable<RequestId, Entry> | undefined;
  #lastId: number;
  #closed: Error | undefined;

  /** @param lastId the last id that was already used on the connection. Default 0: none. */
  constructor(lastId = 0) {
    this.#lastId = lastId;
  }

  get size(): number {
    return this.#entries?.size ?? 0;
  }

  /** The id of the pending request, if there is exactly one. */
  get only(): RequestId | undefined {
    if (this.#entries?.size !== 1) return undefined;
    const [id] = this.#entries.keys();
    return id;
  }

  /**
   * Sends a request with a new id and resolves with its result.
   *
   * @param transmit sends the message. If it fails, the request fails with its error. Undefined means that the message
   * is already sent.
   * @param onexpired called when the request has timed out, to notify the peer.
   * @throws RpcError as sent by the peer; with −32001 if the request timed out; with −32000 if the connection was
   * closed.
   */
  open(
    method: string,
    params: JsonObject | undefined,
    limits: TimeLimits,
    transmit: (request: Request) => Promise<void> | undefined,
    onexpired?: (id: RequestId, reason: string) => void,
  ): { readonly id: RequestId; readonly result: Promise<JsonObject> } {
    const id = ++this.#lastId;
    const result = new Promise<JsonObject>((resolve, reject) => {
      if (this.#closed) return reject(this.#closed);
      const entry: Entry = {
        resolve,
        reject,
        deadline: new Deadline(limits, (limit) => {
          const reason = quoting`${method} was not answered within ${limit} ms`;
          this.cancel(id, new RpcError(REQUEST_TIMEOUT, `Request timed out: ${reason}`));
          onexpired?.(id, reason);
        }),
      };
      (this.#entries ??= new IdTable()).set(id, entry);
      const message: Request =
        params === undefined ? { jsonrpc: '2.0', id, method } : { jsonrpc: '2.0', id, method, params };
      const failed = (error: unknown): void => this.#take(id)?.reject(RpcError.from(error));
      try {
        transmit(message)?.catch(failed);
      } catch (error) {
        failed(error);
      }
    });
    return { id, result };
  }

  /**
   * Handles a response. Returns false if no request waits for it, because it is late, duplicate or unknown.
   *
   * @param cause the cause of an error that this side created.
   */
  settle(response: Response, cause?: Error): boolean {
    const entry = response.id === undefined ? undefined : this.#take(response.id);
    if (!entry) return false;
    if ('result' in response) entry.resolve(response.result);
    else
      entry.reject(
        cause
          ? new RpcError(response.error.code, response.error.message, { cause })
          : RpcError.fromObject(response.error),
      );
    return true;
  }

  /** Restarts the timeout of a request after a sign of progress. The maximum still applies. */
  extend(id: RequestId): void {
    this.#entries?.get(id)?.deadline.extend();
  }

  /** Fails a request. Returns false if it is already settled. */
  cancel(id: RequestId, error: Error): boolean {
    const entry = this.#take(id);
    entry?.reject(error);
    return entry !== undefined;
  }

  /**
   * Fails all pending and all later requests. There may be thousands, and much follows from each, so only a few fail in one
   * turn of the event loop.
   */
  close(error: Error): void {
    this.#closed ??= error;
    const turns = new FewPerTurn();
    for (const id of this.#entries?.keys() ?? []) turns.run(() => void this.cancel(id, error));
  }

  #take(id: RequestId): Entry | undefined {
    const entry = this.#entries?.get(id);
    if (!entry) return undefined;
    this.#entries!.delete(id);
    entry.deadline.clear();
    return entry;
  }
}
