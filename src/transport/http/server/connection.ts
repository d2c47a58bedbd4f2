import { afterMicrotasks } from '../../../base/after-microtasks.ts';
import { Deferred } from '../../../base/deferred.ts';
import type { HttpStream } from './call.ts';
import type { OpenConnections } from './open-connections.ts';
import { KEEP_ALIVE } from './sse.ts';
import { SENT_AT_ONCE } from '../../transport.ts';

/** What a sender that waits for a slow reader takes: 640 bytes for its promises, as measured. */
const SENDER_BYTES = 640;
/** The most senders that wait for one reader. */
const MAX_SENDERS = 1000;

/** One HTTP response that carries events, with the state of its reader. */
export class SseConnection {
  readonly #stream: HttpStream;
  readonly #connections: OpenConnections;
  #onclose: (() => void) | undefined;
  #full = false;
  #closed = false;
  #senders = 0;
  #drain: Deferred | undefined;
  /** What waits for text that follows at once. */
  #joined = '';

  constructor(stream: HttpStream, connections: OpenConnections, onclose: () => void) {
    this.#stream = stream;
    this.#connections = connections;
    this.#onclose = onclose;
    // Variables first, for the garbage collector (`CallExtra`).
    const drained = (): void => this.#drained();
    const close = (): void => this.#close();
    stream.ondrain = drained;
    stream.onclose = close;
    connections.add(this);
  }

  /** Whether the reader is slow, so that new text stays in memory. */
  get full(): boolean {
    return this.#full;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /**
   * @param joins whether the text is written together with all that follows before any other callback. Questions that a server
   * asks at once reach the client together, so that it can answer them together.
   */
  write(text: string, joins = false): void {
    if (this.#closed) return;
    if (!joins && this.#joined === '') return this.#write(text);
    if (this.#joined === '') afterMicrotasks(() => this.#flush());
    this.#joined += text;
  }

  #flush(): void {
    const text = this.#joined;
    this.#joined = '';
    if (text !== '' && !this.#closed) this.#write(text);
  }

  #write(text: string): void {
    if (this.#stream.write(text) || this.#full) return;
    this.#full = true;
    this.#stream.watch(this.#connections.stallTimeout);
  }

  /** See `HttpStream.keep`. */
  keep(bytes: number): void {
    if (!this.#closed) this.#stream.keep(bytes);
  }

  keepAlive(): void {
    if (!this.#full) this.write(KEEP_ALIVE);
  }

  /** Resolves when the reader has caught up or is gone. */
  drained(): Promise<void> {
    if (!this.#full || this.#closed) return SENT_AT_ONCE;
    this.#drain ??= new Deferred();
    return this.#drain.promise;
  }

  /**
   * Like `drained`, for the sender of a message. Each sender that waits is counted as kept for the reader. Beyond the
   * limit a sender does not wait: so many at a time do not await what they send.
   */
  sent(): Promise<void> {
    if (!this.#full || this.#closed || this.#senders === MAX_SENDERS) return SENT_AT_ONCE;
    this.#senders += 1;
    const drained = this.drained();
    this.keep(SENDER_BYTES);
    return drained;
  }

  end(): void {
    if (this.#closed) return;
    this.#flush();
    this.#stream.end();
    this.#close();
  }

  /** Ends the response, though more would follow. A reader that is slow loses what it has not read. */
  cutShort(): void {
    if (this.#full) this.destroy();
    else this.end();
  }

  destroy(): void {
    if (this.#closed) return;
    this.#stream.destroy();
    this.#close();
  }

  #drained(): void {
    if (this.#full && !this.#closed) this.#stream.watch(0);
    this.#full = false;
    this.#drain?.resolve();
    this.#drain = undefined;
    if (this.#senders > 0) this.keep(-this.#senders * SENDER_BYTES);
    this.#senders = 0;
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#connections.delete(this);
    this.#drained();
    this.#onclose?.();
    this.#onclose = undefined;
  }
}
