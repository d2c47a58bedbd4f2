import { Waiters } from '../base/waiters.ts';
import { TimeoutError } from '../client/errors.ts';
import type { LogMessage, Progress } from '../client/handlers.ts';
import { derive } from '../core/derive.ts';
import type { Middleware } from '../core/exchange.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { isNotificationMethod, Meta, NotificationMethod } from '../protocol/methods.ts';
import type { DetailedTask } from '../protocol/tasks.ts';

/** The parameters of the notifications that servers send, by method. */
export interface NotificationParams {
  'notifications/message': LogMessage;
  'notifications/progress': Progress;
  'notifications/tools/list_changed': JsonObject;
  'notifications/prompts/list_changed': JsonObject;
  'notifications/resources/list_changed': JsonObject;
  'notifications/resources/updated': { uri: string };
  'notifications/tasks': DetailedTask;
}

/** The method of a notification: one of `NotificationParams`, or any other. */
export type NotificationName = keyof NotificationParams | (string & {});

/** The parameters of a notification. Any object for a method that is not in `NotificationParams`. */
export type ParamsOf<M extends NotificationName> = M extends keyof NotificationParams
  ? NotificationParams[M]
  : JsonObject;

/** A notification that the server sent. */
export interface ReceivedNotification {
  readonly method: string;
  /** Without the progress token and the subscription id, which the client chose. */
  readonly params: JsonObject;
}

/** Which notification to wait for, and how long. */
export interface NextOptions<M extends NotificationName> {
  /** Accepts or skips a notification. Default: accepts every one of the method. */
  where?: ((params: ParamsOf<M>) => boolean) | undefined;
  /** Milliseconds. Default 2000. */
  timeout?: number | undefined;
}

const TIMEOUT = 2000;

/** Records the notifications of a server, in the order of their arrival. */
export class Notifications {
  readonly #received: ReceivedNotification[] = [];
  readonly #taken = new Set<ReceivedNotification>();
  readonly #arrivals = new Waiters();

  /** All notifications so far. */
  get received(): readonly ReceivedNotification[] {
    return this.#received;
  }

  /** The parameters of all notifications of a method so far. */
  of<M extends NotificationName>(method: M): ParamsOf<M>[] {
    return this.#received.filter((each) => each.method === method).map(({ params }) => params as ParamsOf<M>);
  }

  /**
   * Resolves with the parameters of the next notification of a method: the oldest that `next` has not returned yet, or
   * else the first that arrives. So it does not matter whether the notification arrives before or after this call.
   *
   * @throws TimeoutError (rejects) that lists what has arrived instead.
   */
  async next<M extends NotificationName>(method: M, options: NextOptions<M> = {}): Promise<ParamsOf<M>> {
    const { where = () => true, timeout = TIMEOUT } = options;
    const until = performance.now() + timeout;
    for (;;) {
      const found = this.#received.find(
        (each) => each.method === method && !this.#taken.has(each) && where(each.params as ParamsOf<M>),
      );
      if (found) {
        this.#taken.add(found);
        return found.params as ParamsOf<M>;
      }
      const left = until - performance.now();
      if (left <= 0) throw this.#late(method, timeout, options.where !== undefined);
      await this.#arrivals.wait({ timeout: left });
    }
  }

  /**
   * Records what a client receives, and requests progress for each call.
   *
   * @internal
   */
  readonly middleware: Middleware = (next) => (exchange) => {
    if (isNotificationMethod(exchange.method)) return next(exchange);
    const notify = (method: string, params: JsonObject = {}): Promise<void> => {
      this.#record(method, params);
      return exchange.notify(method, params);
    };
    return next(derive(exchange, { params: withProgressToken(exchange.params), notify }));
  };

  #record(method: string, params: JsonObject): void {
    // It answers the request of a subscription. Clients of handshake revisions do not get it.
    if (method === NotificationMethod.Acknowledged) return;
    this.#received.push({ method, params: withoutOwnIds(params) });
    this.#arrivals.wake();
  }

  #late(method: string, timeout: number, chosen: boolean): TimeoutError {
    const counts = new Map<string, number>();
    for (const each of this.#received) counts.set(each.method, (counts.get(each.method) ?? 0) + 1);
    const others = Array.from(counts, ([name, count]) => `${count} × ${name}`).join(', ');
    const further = Array.from(this.#taken).some((each) => each.method === method) ? 'further ' : '';
    const missing = `No ${further}${method}${chosen ? ' that `where` accepts' : ''} was received within ${timeout} ms`;
    return new TimeoutError(`${missing}. Received so far: ${others || 'nothing'}`, timeout);
  }
}

let lastToken = 0;

function withProgressToken(params: JsonObject): JsonObject {
  const { _meta: meta } = params;
  if (isObject(meta) && meta[Meta.ProgressToken] !== undefined) return params;
  lastToken += 1;
  return { ...params, _meta: { ...meta, [Meta.ProgressToken]: `test-${lastToken}` } };
}

function withoutOwnIds({ progressToken: _token, _meta: meta, ...params }: JsonObject): JsonObject {
  if (!isObject(meta)) return params;
  const { [Meta.SubscriptionId]: _id, ...rest } = meta;
  return Object.keys(rest).length === 0 ? params : { ...params, _meta: rest };
}
