import { RpcError } from '../../jsonrpc/errors.ts';
import { isObject, type JsonObject, type Notification, type Response } from '../../jsonrpc/message.ts';
import { REQUEST_TIMEOUT } from '../../jsonrpc/pending.ts';
import type { Exchange } from '../../core/exchange.ts';
import { Meta, Method, Notice } from '../../protocol/methods.ts';
import { asksFor, changesOf } from '../../protocol/subscriptions.ts';
import type { SubscriptionFilter } from '../../protocol/types.ts';
import { NoticeQueue } from '../notice-queue.ts';
import { Deadline } from './deadline.ts';

/** Sends one `subscriptions/listen`; resolves when it ends. */
export type OpenSubscription = (
  signal: AbortSignal,
  onnotification: (notification: Notification) => void,
) => Promise<Response>;

export interface SubscriptionOptions {
  /** Milliseconds that the server may take to acknowledge; 0 for ever. */
  readonly timeout: number;
  /** Fires when there is nobody to open it at anew. */
  readonly closing: AbortSignal;
  /** Hears of each change, whoever else does. */
  readonly onchange: (method: string) => void;
  readonly onerror: (error: Error) => void;
}

const FIRST_DELAY = 500;
const MAX_DELAY = 30_000;
/** A stream that lived this long (milliseconds) was a good one: the next is opened without much ado. */
const STABLE_AFTER = 5000;
/** So many attempts in a row may fail. */
const MAX_FAILURES = 20;

/**
 * Serves one `subscriptions/listen` exchange with as many requests as it takes: where the stream is lost without a
 * response, it is opened anew, after a delay that grows from half a second to half a minute with each failure and is
 * shortened at random (2026-07-28, patterns/subscriptions: Graceful Closure). The exchange hears of the first
 * acknowledgment only; after a gap it is told that all it listens to may have changed.
 *
 * Only what was asked for gets through, and nothing before the acknowledgment.
 *
 * @returns what the server ended it with, or an empty result where the exchange's signal fired.
 * @throws RpcError as sent by the server; or why it could not be opened: at first, or 20 times in a row.
 */
export async function keepSubscribed(
  exchange: Exchange,
  open: OpenSubscription,
  options: SubscriptionOptions,
): Promise<JsonObject> {
  const { signal } = exchange;
  const notices = new NoticeQueue(exchange, options.onerror);
  const filter: SubscriptionFilter = isObject(exchange.params['notifications']) ? exchange.params['notifications'] : {};
  let acknowledged = false;
  let failures = 0;
  while (!signal.aborted) {
    const stream = new Stream(filter, options);
    stream.onacknowledged = (honoured) => {
      if (!acknowledged) notices.push(Notice.Acknowledged, { notifications: honoured });
      else for (const [method, params] of changesOf(honoured)) stream.onnotice(method, params);
      acknowledged = true;
    };
    stream.onnotice = (method, params) => {
      options.onchange(method);
      notices.push(method, params);
    };
    let lost: RpcError | undefined;
    const response = await stream.run(open, signal).catch((thrown: unknown) => {
      lost = RpcError.from(thrown);
    });
    notices.flush();
    if (response && 'error' in response) throw RpcError.fromObject(response.error);
    if (response) return withoutSubscription(response.result);
    if (signal.aborted) break;
    failures = stream.stable ? 0 : failures + 1;
    if (!acknowledged || options.closing.aborted || failures > MAX_FAILURES) throw lost!;
    options.onerror(
      new RpcError(lost!.code, `A subscription was lost and is opened anew: ${lost!.message}`, { cause: lost }),
    );
    await pause(failures, [signal, options.closing]);
    if (options.closing.aborted && !signal.aborted) throw lost!;
  }
  return {};
}

/** One request of a subscription. */
class Stream {
  onacknowledged!: (honoured: SubscriptionFilter) => void;
  onnotice!: (method: string, params: JsonObject) => void;
  readonly #filter: SubscriptionFilter;
  readonly #options: SubscriptionOptions;
  readonly #controller = new AbortController();
  #deadline: Deadline | undefined;
  #acknowledgedAt: number | undefined;
  /** The server has said that it ends it, without a response so far. */
  #ended = false;

  constructor(filter: SubscriptionFilter, options: SubscriptionOptions) {
    this.#filter = filter;
    this.#options = options;
  }

  /** Whether it lived long enough to trust the next one. */
  get stable(): boolean {
    return this.#acknowledgedAt !== undefined && Date.now() - this.#acknowledgedAt >= STABLE_AFTER;
  }

  async run(open: OpenSubscription, signal: AbortSignal): Promise<Response> {
    const cancel = (): void => this.#controller.abort(RpcError.from(signal.reason));
    signal.addEventListener('abort', cancel);
    this.#deadline = new Deadline({ timeout: this.#options.timeout, maxTimeout: 0 }, (limit) =>
      this.#controller.abort(
        new RpcError(REQUEST_TIMEOUT, `Request timed out: ${Method.Listen} was not acknowledged within ${limit} ms`),
      ),
    );
    try {
      return await open(this.#controller.signal, (notification) => this.#receive(notification));
    } catch (error) {
      if (this.#ended) return { jsonrpc: '2.0', id: 0, result: {} };
      throw this.#controller.signal.aborted ? this.#controller.signal.reason : error;
    } finally {
      signal.removeEventListener('abort', cancel);
      this.#deadline.clear();
    }
  }

  #receive({ method, params = {} }: Notification): void {
    if (this.#controller.signal.aborted) return;
    if (method === Notice.Cancelled) {
      // 2026-07-28, patterns/cancellation: a server ends by it what it was to tell.
      this.#ended = true;
      return this.#controller.abort();
    }
    if (method === Notice.Acknowledged) {
      if (this.#acknowledgedAt !== undefined) return;
      this.#acknowledgedAt = Date.now();
      this.#deadline?.clear();
      return this.onacknowledged(isObject(params['notifications']) ? params['notifications'] : {});
    }
    if (!asksFor(this.#filter, method, params)) return;
    if (this.#acknowledgedAt === undefined) {
      return this.#options.onerror(
        new Error(`${method} came before the subscription was acknowledged: it was ignored`),
      );
    }
    this.onnotice(method, withoutSubscription(params));
  }
}

/** The id of a subscription is that of a request of ours: nobody else knows it. */
function withoutSubscription(params: JsonObject): JsonObject {
  const meta: unknown = params['_meta'];
  if (!isObject(meta) || !(Meta.SubscriptionId in meta)) return params;
  const { [Meta.SubscriptionId]: _, ...others } = meta;
  const { _meta, ...rest } = params;
  return Object.keys(others).length === 0 ? rest : { ...rest, _meta: others };
}

/** Waits before the next attempt, or until one of the signals fires. */
function pause(failures: number, signals: readonly AbortSignal[]): Promise<void> {
  const longest = Math.min(FIRST_DELAY * 2 ** Math.max(0, failures - 1), MAX_DELAY);
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, longest * (0.5 + Math.random() / 2));
    for (const signal of signals) signal.addEventListener('abort', done);
    if (signals.some(({ aborted }) => aborted)) done();
  });
}
