import { FewPerTurn } from '../base/few-per-turn.ts';
import type { HttpListener, ListenOptions } from '../transport/http/server/listen.ts';
import { listen } from '../transport/http/server/listen.ts';
import { memoryTransportPair } from '../transport/memory.ts';
import type { Transport } from '../transport/transport.ts';
import { TotalLoad } from '../wire/total-load.ts';
import { CallOrder, RecordedCalls } from './call-order.ts';
import { answerStateless, MockAnswers, MockSession, type MockMiss, type MockSessionOptions } from './mock-session.ts';
import { readCalls } from './read-calls.ts';

export type { MockMiss } from './mock-session.ts';

/** How a mock answers. */
export interface MockServerOptions {
  /** Whether to send everything at once instead of at the recorded times. Default false. */
  readonly fast?: boolean | undefined;
  /**
   * Whether a request with other parameters than in the recording gets the answer of the nearest request with the same
   * method and the same name or URI, and whether clients may answer questions in another way. Default false: such
   * requests fail.
   */
  readonly lenient?: boolean | undefined;
  /** Called with each miss, when it happens. Default none. */
  readonly onmiss?: ((miss: MockMiss) => void) | undefined;
  /** Called with errors that cannot be reported to a client. Default none. */
  readonly onerror?: ((error: Error) => void) | undefined;
}

/** The server of a recording. Each connection begins anew, with the first recorded answers. */
export class MockServer {
  readonly #calls: RecordedCalls;
  readonly #options: MockSessionOptions & { readonly lenient: boolean };
  readonly #sessions = new Set<MockSession>();
  readonly #listeners = new Set<HttpListener>();
  readonly #misses: MockMiss[] = [];
  readonly #total = new TotalLoad();
  readonly #ends = new FewPerTurn();
  /** The clients of a revision without sessions cannot be told apart, so they share one order. */
  readonly #stateless: MockAnswers;

  /** @internal Use `mockServer`. */
  constructor(calls: RecordedCalls, { fast = false, lenient = false, onmiss, onerror }: MockServerOptions = {}) {
    this.#calls = calls;
    this.#options = {
      fast,
      lenient,
      onmiss: (miss) => {
        if (this.#misses.length < MAX_MISSES) this.#misses.push(miss);
        onmiss?.(miss);
      },
      onerror: (error) => onerror?.(error),
    };
    this.#stateless = this.#answers();
  }

  /** What clients sent that is not in the recording, at most 1,000. */
  get misses(): readonly MockMiss[] {
    return this.#misses;
  }

  /** Serves one client over one connection. @throws what the transport's `start` throws. */
  async connect(transport: Transport): Promise<void> {
    const session = new MockSession(transport, {
      answers: this.#answers(),
      total: this.#total,
      ends: this.#ends,
      onerror: this.#options.onerror,
      onclose: () => this.#sessions.delete(session),
    });
    this.#sessions.add(session);
    await session.start();
  }

  /** The client's end of a new connection in memory. `connect` takes it in place of a server's URL. */
  async transport(): Promise<Transport> {
    const [client, server] = memoryTransportPair();
    await this.connect(server);
    return client;
  }

  /** Serves over Streamable HTTP and HTTP+SSE. @throws Error with a readable message if the address cannot be used. */
  async listen(options: Omit<ListenOptions, 'onsession' | 'onrequest'> = {}): Promise<HttpListener> {
    const listener = await listen({
      onerror: this.#options.onerror,
      ...options,
      ...(this.#calls.hasHandshake && { onsession: (transport: Transport) => this.connect(transport) }),
      // Also if the recording has no request without a session: the answer says so.
      onrequest: (message, _extra, reply) => void answerStateless(this.#stateless, message, reply),
    });
    this.#listeners.add(listener);
    return listener;
  }

  /** Ends all connections and stops listening. */
  async close(): Promise<void> {
    await Promise.all([
      ...[...this.#sessions].map((session) => session.close()),
      ...[...this.#listeners].map((listener) => listener.close()),
    ]);
  }

  /** Does the same as `close`. `await using mock = await mockServer(…)` closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #answers(): MockAnswers {
    return new MockAnswers(new CallOrder(this.#calls, this.#options.lenient), this.#options);
  }
}

/** The most misses that are kept. */
const MAX_MISSES = 1000;

/**
 * The server of a recording, for tests: it answers as the recorded server did, with the same revision, questions,
 * progress and times.
 *
 * The n-th request with the same method and params gets the n-th recorded answer. After the last one, it gets the last
 * answer again. `_meta` does not count, and neither does what a client says about itself in `initialize`. A request that
 * is not in the recording fails, with the nearest one in the error message.
 *
 * @param recording the path of a recording (mcpcap), or its bytes.
 * @throws RecordingError if it is not a recording. Error if it has no MCP messages, or cannot be read.
 */
export async function mockServer(
  recording: string | AsyncIterable<Uint8Array>,
  options: MockServerOptions = {},
): Promise<MockServer> {
  let unread = 0;
  const calls = await readCalls(recording, () => (unread += 1));
  if (unread > 0) {
    const messages = unread === 1 ? 'a message that is' : `${unread} messages that are`;
    options.onerror?.(new Error(`The recording has ${messages} too large for a mock, so requests may be missing.`));
  }
  return new MockServer(new RecordedCalls(calls), options);
}
