import { shareOf } from '../base/share.ts';
import type { RuleAction } from '../inspect/breakpoints/breakpoint-api.ts';
import type { Breakpoints } from '../inspect/breakpoints/breakpoints.ts';
import { ErrorCode } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { parseJson } from '../jsonrpc/parse.ts';
import type { BodyRefusal, HttpBody, HttpCall, HttpHeaders, HttpStream } from '../transport/http/server/call.ts';
import type { HttpHandler, HttpPage } from '../transport/http/server/handler.ts';
import { RewrittenCall } from '../transport/http/server/rewritten-call.ts';
import { faultOf } from './response-faults.ts';

/** A longer body is refused, as the handler does by default. Bytes. */
const MAX_BODY = 4 * 1024 * 1024;
/** A longer batch is refused by every handler. */
const MAX_BATCH = 1000;

/** Makes faults in the responses of an HTTP handler, by the rules of the user. */
export class HttpFaults {
  readonly #breakpoints: Breakpoints;
  readonly #handler: () => HttpHandler;
  /** Whether the handler is called with a request that was already looked at. */
  #passing = false;

  /** @param handler returns the handler that answers. */
  constructor(breakpoints: Breakpoints, handler: () => HttpHandler) {
    this.#breakpoints = breakpoints;
    this.#handler = handler;
  }

  /** For `pages` of the handler. Without a rule, there is none. */
  readonly page = (): HttpPage | undefined =>
    this.#passing || !this.#breakpoints.actsOnResponses ? undefined : { answer: (call) => void this.#answer(call) };

  async #answer(call: HttpCall): Promise<void> {
    if (call.method !== 'POST') return this.#pass(call);
    const body = await call.readBody(MAX_BODY, shareOf(call));
    const messages = typeof body === 'string' ? [] : messagesIn(body);
    for (const message of messages) {
      const action = faultOf(this.#breakpoints, message);
      if (action) return this.#act(action, call, body);
    }
    this.#pass(new ReadCall(call, body));
  }

  #act(action: RuleAction, call: HttpCall, body: Uint8Array | BodyRefusal): void {
    if (action.type === 'corrupt') return this.#pass(new CorruptedCall(call, body));
    if (action.type === 'cut') return this.#pass(new CutCall(call, body, action.bytes));
    const { status } = action as Extract<RuleAction, { type: 'status' }>;
    if (status === 404 && call.header('mcp-session-id') !== undefined) this.#pass(new SessionEnd(call, body));
    const message = `Everwire answered with ${status}, because the user has set a rule for this`;
    const error = { jsonrpc: '2.0', id: null, error: { code: ErrorCode.InternalError, message } };
    call.respond(status, { 'content-type': 'application/json' }, JSON.stringify(error));
  }

  /** The handler asks for pages before it returns. */
  #pass(call: HttpCall): void {
    this.#passing = true;
    this.#handler().handle(call);
    this.#passing = false;
  }
}

/** The messages in a body. Empty if the handler refuses it. */
function messagesIn(body: Uint8Array): readonly JsonObject[] {
  try {
    const value = parseJson(body);
    const messages: readonly unknown[] = Array.isArray(value) ? value : [value];
    return messages.length > MAX_BATCH ? [] : messages.filter(isObject);
  } catch {
    return [];
  }
}

/** A call whose body was read. */
class ReadCall extends RewrittenCall {
  readonly #body: Uint8Array | BodyRefusal;

  constructor(call: HttpCall, body: Uint8Array | BodyRefusal) {
    super(call);
    this.#body = body;
  }

  override readBody(): Promise<Uint8Array | BodyRefusal> {
    return Promise.resolve(this.#body);
  }
}

/** Ends the session of a call. Nobody gets the response. */
class SessionEnd extends ReadCall {
  override readonly method = 'DELETE';

  override respond(): void {}
}

/** A response in which the first brace is replaced, so that it is not JSON. */
class CorruptedCall extends ReadCall {
  #isDone = false;

  override respond(status: number, headers: HttpHeaders, body: HttpBody = ''): void {
    super.respond(status, headers, this.#corrupt(textOf(body)));
  }

  override stream(status: number, headers: HttpHeaders): HttpStream {
    return new ChangedStream(super.stream(status, headers), (text, next) => next.write(this.#corrupt(text)));
  }

  #corrupt(text: string): string {
    if (this.#isDone || !text.includes('{')) return text;
    this.#isDone = true;
    return text.replace('{', '!');
  }
}

/** A response whose connection closes after some bytes of the body. */
class CutCall extends ReadCall {
  #left: number;

  constructor(call: HttpCall, body: Uint8Array | BodyRefusal, bytes: number) {
    super(call, body);
    this.#left = bytes;
  }

  override respond(status: number, headers: HttpHeaders, body: HttpBody = ''): void {
    const text = textOf(body);
    if (Buffer.byteLength(text) <= this.#left) return super.respond(status, headers, body);
    const stream = this.stream(status, headers);
    stream.write(text);
  }

  override stream(status: number, headers: HttpHeaders): HttpStream {
    return new ChangedStream(super.stream(status, headers), (text, next) => {
      const bytes = Buffer.from(text);
      if (bytes.length <= this.#left) {
        this.#left -= bytes.length;
        return next.write(text);
      }
      next.write(bytes.subarray(0, this.#left).toString('latin1'));
      next.destroy();
      return true;
    });
  }
}

function textOf(body: HttpBody): string {
  return typeof body === 'string' ? body : Buffer.concat(body).toString();
}

/** A stream whose text is changed. */
class ChangedStream implements HttpStream {
  readonly #next: HttpStream;
  readonly #change: (text: string, next: HttpStream) => boolean;

  constructor(next: HttpStream, change: (text: string, next: HttpStream) => boolean) {
    this.#next = next;
    this.#change = change;
  }

  write(text: string): boolean {
    return this.#change(text, this.#next);
  }

  end(): void {
    this.#next.end();
  }

  destroy(): void {
    this.#next.destroy();
  }

  keep(bytes: number): void {
    this.#next.keep(bytes);
  }

  watch(timeout: number): void {
    this.#next.watch(timeout);
  }

  get ondrain(): (() => void) | undefined {
    return this.#next.ondrain;
  }

  set ondrain(listener: (() => void) | undefined) {
    this.#next.ondrain = listener;
  }

  get onclose(): (() => void) | undefined {
    return this.#next.onclose;
  }

  set onclose(listener: (() => void) | undefined) {
    this.#next.onclose = listener;
  }
}
