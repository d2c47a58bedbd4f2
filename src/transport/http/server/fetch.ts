import type { AuthInfo } from '../../../protocol/types.ts';
import { BodyBuffer } from '../body-buffer.ts';
import type { BufferBudget, Holder } from '../../../base/buffer-budget.ts';
import { FewPerTurn } from '../../../base/few-per-turn.ts';
import type { BodyRefusal, HttpBody, HttpCall, HttpHeaders, HttpStream } from './call.ts';
import { CountedCall, type Shared } from './counted-call.ts';
import type { HttpHandler } from './handler.ts';
import { UNREAD } from './access/refusals.ts';

/**
 * Makes a web-standard `fetch` function from a handler, for runtimes and frameworks that use Request and Response. It
 * never rejects. The second argument names the sender, if something in front of the handler has authenticated it.
 */
export function fetchListener(handler: HttpHandler): (request: Request, context?: FetchContext) => Promise<Response> {
  // A runtime may hand over thousands of pipelined requests in one turn of the event loop. If all ran side by side, all
  // of their results would be in memory before the first one is counted.
  const turns = new FewPerTurn();
  return (request, context) =>
    new Promise((resolve) => {
      const url = parsed(request.url);
      if (!url) return resolve(new Response(null, { status: 400 }));
      const call = new FetchCall(request, url, context, resolve, handler);
      turns.run(() => handler.handle(call));
    });
}

/** Undefined if the URL is not valid. Some runtimes build it from the Host header without a check. */
function parsed(url: string): URL | undefined {
  try {
    return new URL(url);
  } catch {
    return undefined;
  }
}

/** What may have authenticated a request before it reaches the handler. */
export interface FetchContext {
  readonly principal?: string | undefined;
  readonly authInfo?: AuthInfo | undefined;
}

class FetchCall extends CountedCall implements HttpCall {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly principal: string | undefined;
  readonly auth: AuthInfo | undefined;
  /** A `Request` does not show its remote address. */
  readonly address = undefined;
  readonly #request: Request;
  readonly #host: string;
  readonly #resolve: (response: Response) => void;

  constructor(
    request: Request,
    url: URL,
    context: FetchContext | undefined,
    resolve: (response: Response) => void,
    server: Shared,
  ) {
    super(server);
    this.method = request.method;
    this.path = url.pathname;
    this.query = url.search.slice(1);
    this.principal = context?.principal ?? context?.authInfo?.principal;
    this.auth = context?.authInfo;
    this.#request = request;
    this.#host = url.host;
    this.#resolve = resolve;
  }

  get gone(): boolean {
    return this.#request.signal.aborted;
  }

  header(name: string): string | undefined {
    const value = this.#request.headers.get(name);
    // A Request made by hand has no Host header. Its URL has the same value.
    return value ?? (name === 'host' ? this.#host : undefined);
  }

  readBody(limit: number, share: string | undefined): Promise<Uint8Array | BodyRefusal> {
    this.share = share;
    return this.#read(limit).catch(() => {
      // If a body is cut off, no client is left to answer. A body of a `Request` made by hand may not consist of bytes.
      this.#resolve(new Response(null, { status: 400 }));
      return new Promise<never>(() => {});
    });
  }

  async #read(limit: number): Promise<Uint8Array | BodyRefusal> {
    const { budget } = this.server;
    if (this.#request.bodyUsed || this.#request.body?.locked) return 'consumed';
    const buffer = new BodyBuffer();
    const reader = this.#request.body?.getReader();
    let cut = false;
    const unfinished: Holder = {
      held: 0,
      cutOff: () => {
        cut = true;
        reader?.cancel().catch(() => {});
      },
    };
    try {
      while (reader) {
        const { value, done } = await reader.read();
        if (cut) return 'no room';
        if (done) break;
        // The budget would count nothing any more if it got a chunk without a size.
        if (!ArrayBuffer.isView(value as unknown)) throw new TypeError();
        if (buffer.length + value.byteLength > limit) {
          await reader.cancel();
          return 'too large';
        }
        buffer.push(value);
        budget.hold(unfinished, buffer.capacity);
      }
    } finally {
      budget.hold(unfinished, 0);
    }
    return this.counted(buffer.take());
  }

  respond(status: number, headers: HttpHeaders, given?: HttpBody): void {
    this.release();
    const body = typeof given === 'object' ? Buffer.concat(given) : given;
    if (body === undefined || body.length <= HIGH_WATER) {
      return this.#resolve(new Response(body ?? null, { status, headers: { ...headers } }));
    }
    // A large body is sent as a stream, which shows whether it is read.
    const bytes = Buffer.from(body);
    const stream = new FetchStream(this, this.server);
    const length = String(bytes.length);
    this.#resolve(new Response(stream.body, { status, headers: { ...headers, 'content-length': length } }));
    stream.enqueue(bytes);
    stream.end();
  }

  stream(status: number, headers: HttpHeaders): HttpStream {
    const stream = new FetchStream(this, this.server);
    this.#resolve(new Response(stream.body, { status, headers: { ...headers } }));
    const { signal } = this.#request;
    // If the client has left before the response begins, some runtimes do not cancel its body. The stream ends without
    // an error, because some servers report each error of a body.
    if (signal.aborted) queueMicrotask(() => stream.end());
    else signal.addEventListener('abort', () => stream.end(), { once: true });
    return stream;
  }
}

/** How many unread bytes make a reader count as slow. */
const HIGH_WATER = 64 * 1024;
/** The largest chunk. */
const PIECE = 64 * 1024;
/** What a chunk that waits for its reader takes besides its bytes: 600 bytes, as measured. */
const CHUNK_BYTES = 600;

/**
 * One error for all streams. The stack of a new one would refer to the response that needed the room, and keep it in memory
 * as long as the host keeps the stream that was cut off.
 */
const INTERRUPTED = new Error('The connection was interrupted');

class FetchStream implements HttpStream, Holder {
  ondrain: (() => void) | undefined;
  onclose: (() => void) | undefined;
  held = 0;
  readonly body: ReadableStream<Uint8Array>;
  readonly #call: FetchCall;
  readonly #server: Shared;
  readonly #budget: BufferBudget;
  readonly #encoder = new TextEncoder();
  #watcher: ReturnType<typeof setInterval> | undefined;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  /** The bytes that are kept for the reader in addition to the written text. */
  #kept = 0;
  #closed = false;
  /** Whether the stream has ended but is not fully read. */
  #unread = false;

  constructor(call: FetchCall, server: Shared) {
    this.#call = call;
    this.#server = server;
    this.#budget = server.budget;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#drained(),
        cancel: () => this.#gone(),
      },
      { highWaterMark: HIGH_WATER, size: ({ byteLength }) => byteLength + CHUNK_BYTES },
    );
  }

  write(text: string): boolean {
    return this.enqueue(this.#encoder.encode(text));
  }

  enqueue(bytes: Uint8Array): boolean {
    if (this.#closed) return true;
    // In pieces, so that a slow reader of much data shows that it reads. They are copies, because a piece that the runtime
    // still writes would keep all of the data in memory, even if the stream was cut off.
    for (let start = 0; start < bytes.length; start += PIECE) {
      const piece = bytes.subarray(start, start + PIECE);
      this.#controller.enqueue(bytes.length > PIECE ? new Uint8Array(piece) : piece);
    }
    if ((this.#controller.desiredSize ?? 1) > 0) return true;
    this.#count();
    return false;
  }

  keep(bytes: number): void {
    this.#kept += bytes;
    if (!this.#closed) this.#count();
  }

  watch(timeout: number): void {
    clearInterval(this.#watcher);
    if (timeout === 0 || (this.#closed && !this.#unread)) return;
    let room = this.#controller.desiredSize ?? 0;
    this.#watcher = setInterval(() => {
      const now = this.#controller.desiredSize ?? 0;
      if (now <= room) this.destroy();
      room = now;
    }, timeout);
  }

  end(): void {
    if (this.#closed) return;
    this.#kept = 0;
    this.#count();
    // After `close`, a stream does not show when it has been read.
    if (this.held > 0) this.#unread = true;
    else this.#controller.close();
    this.#close();
    this.watch(this.#server.stallTimeout);
  }

  destroy(): void {
    if (this.#closed && !this.#unread) return;
    this.#controller.error(INTERRUPTED);
    this.#gone();
  }

  cutOff(): void {
    this.#server.refused(UNREAD);
    this.destroy();
  }

  #drained(): void {
    this.#count();
    if (!this.#unread) return this.ondrain?.();
    this.#controller.close();
    this.#gone();
  }

  /** The reader has left, or needs nothing more. */
  #gone(): void {
    this.#unread = false;
    clearInterval(this.#watcher);
    this.#budget.hold(this, 0);
    this.#close();
  }

  /** Counts the unread bytes and the bytes kept for the reader. */
  #count(): void {
    const room = this.#controller.desiredSize ?? HIGH_WATER;
    const behind = room > 0 ? 0 : HIGH_WATER - room;
    if (behind + this.#kept !== this.held) this.#budget.hold(this, behind + this.#kept);
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#watcher);
    this.#call.release();
    this.onclose?.();
  }
}
