import { untilAborted } from '../../../base/wait.ts';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import type { LogLevel } from '../../../protocol/logging.ts';
import { Method } from '../../../protocol/methods.ts';
import type { OwnRequest, SendRequest } from './own-request.ts';

interface Change {
  readonly level: LogLevel;
  readonly request: OwnRequest;
  readonly done: Promise<void>;
  /** How many callers wait for it. */
  waiting: number;
}

/**
 * The log level of a connection. Only one request at a time changes it, because over HTTP two could arrive in the wrong
 * order.
 */
export class UpstreamLevel {
  readonly #request: SendRequest;
  /** The level that the connection needs. Undefined if it needs none. */
  readonly #wanted: () => LogLevel | undefined;
  /** The last level that the server confirmed, if it still applies. */
  #level: LogLevel | undefined;
  #change: Change | undefined;

  constructor(request: SendRequest, wanted: () => LogLevel | undefined) {
    this.#request = request;
    this.#wanted = wanted;
  }

  /**
   * Resolves when the server sends messages of the wanted level, or when the signal fires. If no caller waits any more,
   * the request to the server is cancelled.
   *
   * @throws RpcError if the server refuses the level.
   */
  async adjust(signal: AbortSignal): Promise<void> {
    for (let wanted = this.#wanted(); !signal.aborted; wanted = this.#wanted()) {
      const change = this.#change;
      if (!change) {
        if (wanted === undefined || wanted === this.#level) return;
        return this.#wait((this.#change = this.#begin(wanted)), signal);
      }
      try {
        await this.#wait(change, signal);
      } catch (error) {
        if (change.level === this.#wanted()) throw error;
      }
    }
  }

  #begin(level: LogLevel): Change {
    const request = this.#request(Method.SetLevel, { level });
    const done = request.result.then(
      () => this.#over(change, level),
      (error: unknown) => {
        this.#over(change, undefined);
        throw error;
      },
    );
    done.catch(() => {});
    const change: Change = { level, request, done, waiting: 0 };
    return change;
  }

  /** @param level the server's level now. Undefined if it is unknown. */
  #over(change: Change, level: LogLevel | undefined): void {
    if (this.#change !== change) return;
    this.#change = undefined;
    this.#level = level;
  }

  async #wait(change: Change, signal: AbortSignal): Promise<void> {
    change.waiting += 1;
    try {
      await untilAborted(change.done, signal);
    } finally {
      change.waiting -= 1;
      if (change.waiting === 0 && this.#change === change) {
        this.#over(change, undefined);
        change.request.cancel(new RpcError(ErrorCode.InternalError, 'Nobody waits for the log level any more'));
      }
    }
  }
}
