import { pause, waitFor } from '../base/wait.ts';
import { Waiters } from '../base/waiters.ts';
import type { Exchange, Service } from '../core/exchange.ts';
import { errorChain, isSessionGone } from '../jsonrpc/error-chain.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import { saysOtherRevision } from '../wire/era-evidence.ts';
import type { Upstream } from '../wire/upstream.ts';
import { failure, NoConnection, RevisionChanged } from './errors.ts';

export interface LinkOptions {
  /** Makes a connection. The signal fires when the connection is no longer needed. */
  readonly open: (signal: AbortSignal) => Promise<Upstream>;
  /** Whether the next call makes another connection after one was lost. */
  readonly reopens: boolean;
  /**
   * Whether the server runs by itself. If so, a subscription also reconnects to it. A process that the client started
   * is started again only for a call. Default: false.
   */
  readonly remote?: boolean | undefined;
  /**
   * Called with each connection before any call uses it. `rested`: the previous connection was closed because it was
   * idle.
   */
  readonly onopen: (upstream: Upstream, rested: boolean) => void;
  /** Called when a connection was lost, with the reason if it is known. */
  readonly onlost?: ((reason: Error | undefined) => void) | undefined;
  readonly onerror: (error: Error) => void;
}

/**
 * After a connection of at least this many milliseconds, the next one is made at once; otherwise after a growing delay.
 */
const STABLE_AFTER = 5000;
const FIRST_DELAY = 100;
/**
 * The longest delay, in milliseconds. Attempts are made only when a call needs one, so a restarted server is found
 * within this time.
 */
const MAX_DELAY = 2000;
/**
 * After this many failures in a row without a response, calls wait for the next attempt only if it is near. Otherwise
 * each call would wait for seconds and then fail.
 */
const MAX_WAITED = 5;
/** An attempt counts as near if it is this many milliseconds away. */
const NEAR = 1000;

/** The connection to a server: one at a time. After a loss, the next call makes another one if that is possible. */
export class Link {
  /** Subscriptions that were lost and are not open again yet. Only the first one reports the loss. */
  readonly interrupted = new Set<Exchange>();
  readonly #options: LinkOptions;
  readonly #closing = new AbortController();
  #current: Upstream | undefined;
  /** Connections that are open, and lost ones whose processes are still being ended. */
  readonly #held = new Set<Upstream>();
  #last: Upstream | undefined;
  /** The connection whose server seems to speak another revision now. The next connection will show it. */
  #doubted: Upstream | undefined;
  #connecting: Promise<Upstream> | undefined;
  /** The connection was closed because it was idle. */
  #resting = false;
  #openedAt = 0;
  #quickFailures = 0;
  #failedAt = 0;
  /** Failures since the last response to a call. */
  #failuresInARow = 0;
  #answered = false;
  #failure: Error | undefined;
  /** Wait for the next connection. */
  readonly #connected = new Waiters();

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  /** The newest connection, even if it is lost. Undefined before the first. */
  get upstream(): Upstream | undefined {
    return this.#last;
  }

  /** The connection for the next call. Undefined if it has to be made. */
  get current(): Upstream | undefined {
    return this.#current;
  }

  get closed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Whether another connection is made after one is lost. */
  get reopens(): boolean {
    return this.#options.reopens;
  }

  /** Whether calls are possible: there is a connection, or one can be made. */
  get usable(): boolean {
    return !this.closed && (this.#options.reopens || this.#current !== undefined);
  }

  /** Whether this is a handshake server that did not declare a capability of its revision. */
  lacks(capability: string): boolean {
    if (!this.#current) return false;
    const { revision, discovered } = this.#current;
    const { era, unknown } = REVISIONS[revision];
    if (era === 'modern' || unknown.properties.ServerCapabilities?.includes(capability)) return false;
    return !isObject(discovered.capabilities[capability]);
  }

  /** @throws ConnectionError if no connection can be made, RpcError if the server refuses. */
  connect(): Promise<Upstream> {
    if (this.#current) return Promise.resolve(this.#current);
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /**
   * Calls the server. Rejects with the server's own `RpcError`, or with a `ConnectionError` if it cannot be reached.
   */
  readonly service: Service = (exchange) => {
    const upstream = this.#current;
    return upstream ? this.#through(upstream, exchange) : this.#reconnected(exchange);
  };

  /** Fires with the reason when the link is closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /**
   * Waits until a call has made the next connection, or the signal fires.
   *
   * @returns false, at once, if there is a connection or a subscription may make one.
   * @throws Error with the reason, if no connection can be made any more.
   */
  async awaitCall(signal: AbortSignal): Promise<boolean> {
    let waited = false;
    while (!signal.aborted) {
      if (!this.usable) throw this.#unusable();
      if (this.#current || (this.#options.remote && !this.#resting)) return waited;
      waited = true;
      await this.#connected.wait({ signal });
    }
    return waited;
  }

  /** Closes the current connection if another can be made. The next call makes it. Calls in flight fail. */
  async rest(): Promise<void> {
    const upstream = this.#current;
    if (!upstream || !this.#options.reopens) return;
    this.#current = undefined;
    this.#resting = true;
    await this.#end(upstream);
  }

  /** @param reason the error for connection attempts in progress. */
  async close(reason: Error): Promise<void> {
    this.#closing.abort(reason);
    this.#connected.wake();
    // A connection that is being made is closed when it is open.
    await Promise.all([this.#connecting?.catch(() => {}), ...[...this.#held].map((upstream) => this.#end(upstream))]);
  }

  async #end(upstream: Upstream): Promise<void> {
    try {
      await upstream.close();
    } finally {
      this.#held.delete(upstream);
    }
  }

  async #through(upstream: Upstream, exchange: Exchange): Promise<JsonObject> {
    try {
      const result = await upstream.service(exchange);
      this.#answered = true;
      return result;
    } catch (error) {
      // Its transport may still wait for other messages to be sent, and close later.
      if (isSessionGone(error)) this.#lost(upstream);
      if (this.#options.reopens && saysOtherRevision(error, upstream.revision)) {
        this.#doubt(upstream);
        throw new RevisionChanged(exchange.method, upstream.revision, error as Error);
      }
      throw failure(exchange.method, error, upstream.closed);
    }
  }

  /** A cancelled call does not wait until there is a connection, because meanwhile its parameters would need memory. */
  async #reconnected(exchange: Exchange): Promise<JsonObject> {
    return this.#through(await waitFor(this.connect(), exchange), exchange);
  }

  async #connect(): Promise<Upstream> {
    const { open, reopens, onopen, onerror } = this.#options;
    const { signal } = this.#closing;
    signal.throwIfAborted();
    if (this.#last && !reopens) throw this.#unusable();
    await this.#backOff(signal);
    this.#openedAt = performance.now();
    let upstream: Upstream;
    try {
      upstream = await open(signal);
    } catch (error) {
      this.#failed(error);
      throw signal.aborted ? signal.reason : error;
    }
    this.#held.add(upstream);
    upstream.onclose = () => {
      upstream.onclose = undefined;
      this.#lost(upstream);
      this.#end(upstream).catch(onerror);
    };
    if (signal.aborted) {
      await this.#end(upstream).catch(onerror);
      throw signal.reason;
    }
    if (upstream.closed) {
      this.#end(upstream).catch(onerror);
      this.#failed(upstream.closeReason);
      throw new NoConnection('The connection was lost immediately after it was made', { cause: upstream.closeReason });
    }
    const former = this.#doubted;
    this.#doubted = undefined;
    if (former) {
      if (!former.closed && former.revision === upstream.revision) return this.#resume(former, upstream);
      this.#options.onlost?.(former.closed ? former.closeReason : new Error(`it now speaks ${upstream.revision}`));
      this.#end(former).catch(onerror);
    }
    this.#current = this.#last = upstream;
    const rested = this.#resting;
    this.#resting = false;
    onopen(upstream, rested);
    this.#connected.wake();
    return upstream;
  }

  /** Makes the next call find out which revision the server speaks. Calls in flight continue until then. */
  #doubt(upstream: Upstream): void {
    if (this.#current !== upstream) return;
    this.#current = undefined;
    this.#doubted = upstream;
  }

  /** The server still speaks the same revision, so its state and the calls in flight are kept. */
  #resume(former: Upstream, other: Upstream): Upstream {
    this.#end(other).catch(this.#options.onerror);
    this.#current = former;
    this.#connected.wake();
    return former;
  }

  #lost(upstream: Upstream): void {
    if (this.#current !== upstream) return;
    this.#current = undefined;
    if (performance.now() - this.#openedAt < STABLE_AFTER) this.#failed(upstream.closeReason);
    else this.#quickFailures = 0;
    if (!this.closed) this.#options.onlost?.(upstream.closeReason);
  }

  #failed(error: unknown): void {
    this.#quickFailures += 1;
    this.#failuresInARow = this.#answered ? 1 : this.#failuresInARow + 1;
    this.#answered = false;
    this.#failedAt = performance.now();
    this.#failure = error instanceof Error ? error : undefined;
  }

  /** The first two attempts are immediate: a server that crashed once usually starts again. */
  async #backOff(signal: AbortSignal): Promise<void> {
    if (this.#quickFailures < 2) return;
    const longest = Math.min(FIRST_DELAY * 2 ** (this.#quickFailures - 2), MAX_DELAY);
    const delay = this.#failedAt + longest - performance.now();
    if (delay <= 0) return;
    if (this.#failuresInARow > MAX_WAITED && delay > NEAR) throw this.#failsAgain(delay);
    await pause(delay, signal);
    signal.throwIfAborted();
  }

  #failsAgain(delay: number): Error {
    const why = this.#failure ? `: ${withLastWords(this.#failure)}` : '';
    const message = `The server failed ${this.#failuresInARow} times in a row; the next attempt is in ${Math.ceil(delay)} ms${why}`;
    return new NoConnection(message, { cause: this.#failure });
  }

  #unusable(): Error {
    const { reason } = this.#closing.signal;
    return reason instanceof Error ? reason : new NoConnection('The connection is closed and cannot be made again');
  }
}

/** A message, with the last stderr output of the process if that adds something. */
function withLastWords(error: Error): string {
  for (const each of errorChain(error)) {
    const { stderr } = each as { stderr?: unknown };
    if (typeof stderr === 'string' && stderr.includes('\n')) return `${error.message}\n${stderr}`;
  }
  return error.message;
}
