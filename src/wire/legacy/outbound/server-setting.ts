import { untilAborted } from '../../../base/wait.ts';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import type { OwnRequest } from './own-request.ts';

interface Change<Value> {
  readonly value: Value;
  readonly request: OwnRequest;
  readonly done: Promise<void>;
  /** How many callers wait for this change. */
  waiting: number;
}

/**
 * A setting of the server that several callers share: its log level, or whether the connection is subscribed to a
 * resource. Only one request at a time changes it, because over HTTP two requests could arrive in the wrong order.
 */
export class ServerSetting<Value extends string | boolean> {
  readonly #request: (value: Value) => OwnRequest;
  /** The value that the connection needs. Undefined if any value is acceptable. */
  readonly #wanted: () => Value | undefined;
  #value: Value | undefined;
  #change: Change<Value> | undefined;

  /** @param value the server's value at the beginning, if known. */
  constructor(request: (value: Value) => OwnRequest, wanted: () => Value | undefined, value?: Value) {
    this.#request = request;
    this.#wanted = wanted;
    this.#value = value;
  }

  /** The server's value. Undefined if it is unknown. */
  get value(): Value | undefined {
    return this.#value;
  }

  /** Whether a request to change it is in flight. */
  get changing(): boolean {
    return this.#change !== undefined;
  }

  /**
   * Resolves when the server has the wanted value, or when the signal fires. If no caller waits any more, the request
   * to the server is cancelled.
   *
   * @throws RpcError if the server refuses the value.
   */
  async adjust(signal: AbortSignal = new AbortController().signal): Promise<void> {
    for (let wanted = this.#wanted(); !signal.aborted; wanted = this.#wanted()) {
      const change = this.#change;
      if (!change) {
        if (wanted === undefined || wanted === this.#value) return;
        return this.#wait((this.#change = this.#begin(wanted)), signal);
      }
      try {
        await this.#wait(change, signal);
      } catch (error) {
        if (change.value === this.#wanted()) throw error;
      }
    }
  }

  #begin(value: Value): Change<Value> {
    const before = this.#value;
    const request = this.#request(value);
    const done = request.result.then(
      () => this.#over(change, value),
      (error: unknown) => {
        this.#over(change, before);
        throw error;
      },
    );
    done.catch(() => {});
    const change: Change<Value> = { value, request, done, waiting: 0 };
    return change;
  }

  #over(change: Change<Value>, value: Value | undefined): void {
    if (this.#change !== change) return;
    this.#change = undefined;
    this.#value = value;
  }

  async #wait(change: Change<Value>, signal: AbortSignal): Promise<void> {
    change.waiting += 1;
    try {
      await untilAborted(change.done, signal);
    } finally {
      change.waiting -= 1;
      if (change.waiting === 0 && this.#change === change) {
        // The server may or may not have made the change.
        this.#over(change, undefined);
        change.request.cancel(new RpcError(ErrorCode.InternalError, 'No caller waits for this change any more'));
      }
    }
  }
}
