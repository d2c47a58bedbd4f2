import type { Client } from '../client/client.ts';
import type { Progress } from '../client/handlers.ts';
import { CommandRefused } from '../inspect/page-server/command-refused.ts';
import { exactObject } from '../inspect/page-server/exact-json.ts';
import type { RequestCommand, RequestOutcome, RunningRequest } from '../inspect/page-server/page-api.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { JsonValue } from '../jsonrpc/message.ts';

const MAX_RUNNING = 100;
/** How much of a message about progress is shown, in UTF-16 code units. */
const MAX_MESSAGE = 2000;

interface Running extends RunningRequest {
  readonly controller: AbortController;
}

/** The page's requests in flight. */
export class RunningRequests {
  readonly #onchange: (running: readonly RunningRequest[]) => void;
  readonly #running = new Map<string, Running>();

  constructor(onchange: (running: readonly RunningRequest[]) => void) {
    this.#onchange = onchange;
  }

  /** @throws CommandRefused if the request cannot be sent. */
  async send(client: Client, { key, method, params, timeout }: RequestCommand): Promise<RequestOutcome> {
    const parsed = exactObject(params, 'parameters');
    if (this.#running.has(key)) throw new CommandRefused(409, `A request ${JSON.stringify(key)} is already running.`);
    if (this.#running.size >= MAX_RUNNING)
      throw new CommandRefused(409, `${MAX_RUNNING} requests are already running.`);
    const controller = new AbortController();
    this.#running.set(key, { key, method, controller });
    this.#changed();
    const started = performance.now();
    let outcome: Omit<RequestOutcome, 'duration'>;
    try {
      const onprogress = (progress: Progress): void => {
        const { progress: done, total, message } = progress;
        const shown = { progress: done, total, message: message?.slice(0, MAX_MESSAGE) };
        this.#running.set(key, { ...this.#running.get(key)!, progress: shown });
        this.#changed();
      };
      const { signal } = controller;
      outcome = { result: await client.request(method, parsed, { signal, timeout, maxTimeout: 0, onprogress }) };
    } catch (error) {
      outcome = { error: errorOf(error) };
    }
    this.#running.delete(key);
    this.#changed();
    return { ...outcome, duration: performance.now() - started };
  }

  /** Does nothing if the request has ended. */
  cancel(key: string): void {
    this.#running.get(key)?.controller.abort(new Error('Cancelled'));
  }

  #changed(): void {
    this.#onchange([...this.#running.values()].map(({ key, method, progress }) => ({ key, method, progress })));
  }
}

function errorOf(thrown: unknown): NonNullable<RequestOutcome['error']> {
  const { message } = thrown as Error;
  if (!(thrown instanceof RpcError)) return { message };
  return { code: thrown.code, message, data: thrown.data as JsonValue };
}
