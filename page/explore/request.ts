import { signal, type ReadonlySignal } from '@preact/signals';
import type { RequestOutcome } from '../../src/inspect/page-server/page-api.ts';
import type { JsonObject, JsonValue } from '../../src/jsonrpc/message.ts';
import { inNextTurn } from '../../src/base/next-turn.browser.ts';
import { RefusedError, type Server } from '../server/server.ts';

/** A response longer than this is not parsed, because the page would freeze. Bytes. */
const MAX_PARSED = 2 * 1024 * 1024;
/** How much of a long response is shown. Bytes. */
const HEAD = 16 * 1024;

/** What became of a request. */
export type Outcome =
  | { readonly kind: 'result'; readonly result: JsonObject; readonly duration: number }
  | { readonly kind: 'error'; readonly error: RequestError; readonly duration: number }
  | { readonly kind: 'large'; readonly whole: Blob; readonly head: string; readonly duration: number }
  /** Nothing was sent. */
  | { readonly kind: 'refused'; readonly message: string }
  /** It was sent, or may have been, but its outcome can no longer be fetched: this page's server is gone. */
  | { readonly kind: 'lost'; readonly message: string };

/** Why a request failed. */
export interface RequestError {
  readonly code?: number | undefined;
  readonly message: string;
  readonly data?: JsonValue;
}

/** A request of the page. */
export interface Sent {
  readonly key: string;
  readonly method: string;
  /** JSON text. */
  readonly params: string;
  /** When it was sent, in milliseconds of `performance.now()`. */
  readonly started: number;
  readonly time: Date;
  /** The number of the newest record when it was sent. That of its answer is larger. */
  readonly after: number;
  /** Undefined while it runs. */
  readonly outcome: ReadonlySignal<Outcome | undefined>;
  /** Settles when it has an outcome, and never rejects. */
  readonly settled: Promise<Outcome>;
  cancel(): void;
}

let last = 0;

/**
 * Sends a request to the inspected server.
 *
 * @param after the number of the newest record.
 * @param params an object, or JSON text.
 * @param timeout milliseconds without an answer or progress. 0: no limit.
 */
export function sendRequest(
  server: Server,
  after: number,
  method: string,
  params: JsonObject | string,
  timeout?: number,
): Sent {
  const key = `page-${(last += 1)}-${crypto.randomUUID()}`;
  const text = typeof params === 'string' ? params : JSON.stringify(params);
  const outcome = signal<Outcome | undefined>(undefined);
  const started = performance.now();
  const settled = (async (): Promise<Outcome> => {
    try {
      const response = await server.post('request', { key, method, params: text, timeout });
      return await outcomeOf(await response.blob(), started);
    } catch (error) {
      return { kind: error instanceof RefusedError ? 'refused' : 'lost', message: (error as Error).message };
    }
  })();
  void settled.then((value) => (outcome.value = value));
  return {
    key,
    method,
    params: text,
    started,
    time: new Date(),
    after,
    outcome,
    settled,
    // This fails if the request has just ended. Then there is nothing to cancel.
    cancel: () => void server.send('cancel', { key }).catch(() => {}),
  };
}

async function outcomeOf(body: Blob, started: number): Promise<Outcome> {
  if (body.size > MAX_PARSED) {
    const head = await body.slice(0, HEAD).text();
    return { kind: 'large', whole: body, head, duration: performance.now() - started };
  }
  const { result, error, duration } = JSON.parse(await body.text()) as RequestOutcome;
  // To read a large response takes long, and so does showing it: the page can draw in between.
  await new Promise<void>(inNextTurn);
  if (error) return { kind: 'error', error, duration };
  return { kind: 'result', result: result ?? {}, duration };
}
