import { onTestFinished } from 'vitest';
import type { Exchange, Service } from '../../src/core/exchange.ts';
import { ErrorCode, RpcError } from '../../src/jsonrpc/errors.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { Meta } from '../../src/protocol/methods.ts';

type Answer = (exchange: Exchange) => JsonObject | Promise<JsonObject>;

/** Resolves when `signal` fires. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve());
  });
}

/** A promise and its two functions, so that a test decides when something happens. */
export function deferred<T = void>(): {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (error: Error) => void;
} {
  let resolve!: (value: T) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

/** Runs everything that waits only for its turn in the event loop. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 100; turn += 1) await Promise.resolve();
}

/** Records unhandled rejections. The returned function returns them when all have had time to be handled. */
export function unhandled(): () => Promise<unknown[]> {
  const reasons: unknown[] = [];
  const note = (reason: unknown): void => void reasons.push(reason);
  process.on('unhandledRejection', note);
  onTestFinished(() => void process.off('unhandledRejection', note));
  return async () => {
    await new Promise((resolve) => void setImmediate(resolve));
    return reasons;
  };
}

/** A service that answers each method as given, and any other with −32601. It records its exchanges. */
export function scripted(
  methods: Record<string, Answer> = {},
  capabilities: JsonObject = {},
): { service: Service; seen: Exchange[] } {
  const seen: Exchange[] = [];
  const all: Record<string, Answer> = {
    'server/discover': () => ({
      supportedVersions: [],
      capabilities,
      _meta: { [Meta.ServerInfo]: { name: 'scripted', version: '1' } },
    }),
    echo: ({ params }) => ({ params }),
    ...methods,
  };
  const service: Service = async (exchange) => {
    seen.push(exchange);
    const answer = all[exchange.method];
    if (!answer) throw new RpcError(ErrorCode.MethodNotFound, `Method not found: ${exchange.method}`);
    return answer(exchange);
  };
  return { service, seen };
}

/** Acknowledges everything in `subscriptions/listen`, and passes the exchange to the test. */
export function listening(subscribers: Exchange[]): Answer {
  return async (exchange) => {
    subscribers.push(exchange);
    const { notifications } = exchange.params;
    await exchange.notify('notifications/subscriptions/acknowledged', { notifications });
    await aborted(exchange.signal);
    subscribers.splice(subscribers.indexOf(exchange), 1);
    return {};
  };
}
