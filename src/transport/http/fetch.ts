import type { AuthInfo } from '../../protocol/types.ts';
import type { HttpBody, HttpCall, HttpHeaders, HttpStream } from './call.ts';
import type { HttpHandler } from './handler.ts';

/**
 * Makes a web-standard `fetch` function of a handler, for runtimes and frameworks that speak Request and Response. It
 * never rejects. The second argument says who sent the request, where something before it has authenticated them.
 */
export function fetchListener(handler: HttpHandler): (request: Request, context?: FetchContext) => Promise<Response> {
  return (request, context) => new Promise((resolve) => handler.handle(new FetchCall(request, context, resolve)));
}

/** What may have authenticated a request before it reaches the handler. */
export interface FetchContext {
  readonly principal?: string | undefined;
  readonly authInfo?: AuthInfo | undefined;
}

class FetchCall implements HttpCall {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly principal: string | undefined;
  readonly auth: AuthInfo | undefined;
  bodyBytes = 0;
  readonly #request: Request;
  readonly #host: string;
  readonly #resolve: (response: Response) => void;

  constructor(request: Request, context: FetchContext | undefined, resolve: (response: Response) => void) {
    const url = new URL(request.url);
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
    // A Request made by hand has no Host header; its address says the same.
    return value ?? (name === 'host' ? this.#host : undefined);
  }

  readBody(limit: number, done: (body: Uint8Array | undefined) => void): void {
    // A body that breaks off has nobody left to answer.
    void this.#read(limit).then(done, () => this.#resolve(new Response(null, { status: 400 })));
  }

  async #read(limit: number): Promise<Uint8Array | undefined> {
    const chunks: Uint8Array[] = [];
    let length = 0;
    const reader = this.#request.body?.getReader();
    while (reader) {
      const { value, done } = await reader.read();
      if (done) break;
      length += value.byteLength;
      if (length > limit) {
        await reader.cancel();
        return undefined;
      }
      chunks.push(value);
    }
    this.bodyBytes = length;
    return Buffer.concat(chunks, length);
  }

  respond(status: number, headers: HttpHeaders, body?: HttpBody): void {
    this.#resolve(
      new Response(typeof body === 'object' ? Buffer.concat(body) : (body ?? null), {
        status,
        headers: { ...headers },
      }),
    );
  }

  stream(status: number, headers: HttpHeaders): HttpStream {
    const stream = new FetchStream();
    this.#resolve(new Response(stream.body, { status, headers: { ...headers } }));
    const { signal } = this.#request;
    // Not every runtime cancels the body of a response whose reader has gone before it came. That a reader has gone is
    // no error of the body, and servers that report those would report each client that leaves.
    if (signal.aborted) queueMicrotask(() => stream.end());
    else signal.addEventListener('abort', () => stream.end(), { once: true });
    return stream;
  }
}

class FetchStream implements HttpStream {
  ondrain: (() => void) | undefined;
  onclose: (() => void) | undefined;
  readonly body: ReadableStream<Uint8Array>;
  readonly #encoder = new TextEncoder();
  #watcher: ReturnType<typeof setInterval> | undefined;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #closed = false;

  constructor() {
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.ondrain?.(),
        cancel: () => this.#close(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: 64 * 1024 }),
    );
  }

  write(text: string): boolean {
    if (this.#closed) return true;
    this.#controller.enqueue(this.#encoder.encode(text));
    return (this.#controller.desiredSize ?? 1) > 0;
  }

  watch(timeout: number): void {
    clearInterval(this.#watcher);
    if (timeout === 0 || this.#closed) return;
    let room = this.#controller.desiredSize ?? 0;
    this.#watcher = setInterval(() => {
      const now = this.#controller.desiredSize ?? 0;
      if (now <= room) this.destroy();
      room = now;
    }, timeout);
  }

  end(): void {
    if (this.#closed) return;
    this.#controller.close();
    this.#close();
  }

  destroy(): void {
    if (this.#closed) return;
    this.#controller.error(new Error('The connection was broken off'));
    this.#close();
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#watcher);
    this.onclose?.();
  }
}
