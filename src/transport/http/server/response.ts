import type { Holder } from '../../../base/buffer-budget.ts';
import { inThisContext } from '../../../base/in-this-context.ts';
import { UNREAD } from './access/refusals.ts';
import type { HttpBody, HttpHeaders, HttpStream } from './call.ts';
import type { CountedCall, Shared } from './counted-call.ts';
import type { Outgoing } from './outgoing.ts';
import { ResponseWriter } from './response-writer.ts';

/** The most text of responses that are written together. A response counts against the budget only when it is written. */
const JOINED = 64 * 1024;

/**
 * The responses of this turn of the event loop, which are all written at its end. Waking the process at the other end
 * is the most expensive part of a write. Further writes while it is awake cost a third less.
 */
let answers: (() => void)[] = [];
/** The length of their text. */
let joined = 0;

/** A name of a header (RFC 9110, section 5.6.2). */
const NAME = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/;
/** What a value may not contain: it would begin another header, or is not in Latin-1. */
const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

/** @throws TypeError for a header that would break the response. */
function checkHeaders(headers: HttpHeaders): void {
  for (const name in headers) {
    if (!NAME.test(name) || NOT_IN_VALUE.test(headers[name]!))
      throw new TypeError(`The header ${JSON.stringify(name)} of a response cannot be sent`);
  }
}

/** Writes a complete response at the end of this turn of the event loop. @throws TypeError for an invalid header. */
export function respond(
  outgoing: Outgoing,
  server: Shared,
  status: number,
  headers: HttpHeaders,
  body: HttpBody | undefined,
): void {
  checkHeaders(headers);
  if (answers.length === 0) setImmediate(writeAnswers);
  const answer = (): void => write(outgoing, server, status, headers, body);
  // A middleware may look whose request it is when the response is written.
  answers.push(outgoing.mayBeWrapped ? inThisContext(answer) : answer);
  joined += lengthOf(body);
  if (joined >= JOINED) writeAnswers();
}

function writeAnswers(): void {
  const ready = answers;
  answers = [];
  joined = 0;
  for (const each of ready) each();
}

function write(
  outgoing: Outgoing,
  server: Shared,
  status: number,
  headers: HttpHeaders,
  body: HttpBody | undefined,
): void {
  if (outgoing.headersSent || outgoing.destroyed) return;
  const length = typeof body === 'string' ? Buffer.byteLength(body) : lengthOf(body);
  outgoing.begin(status, headers, length, server.draining);
  const writer = new ResponseWriter(outgoing);
  writer.end(body, length);
  if (writer.unread === 0) return;
  outgoing.watch(server.stallTimeout);
  const { budget } = server;
  const cutOff = (): void => {
    server.refused(UNREAD);
    writer.destroy();
  };
  // It counts until the kernel has taken all of it.
  const unread: Holder = { held: 0, cutOff };
  budget.hold(unread, length);
  outgoing.ondrain = () => void writer.continue();
  outgoing.onclose = () => budget.hold(unread, 0);
}

/** In UTF-16 units for text, in bytes for anything else. */
function lengthOf(body: HttpBody = ''): number {
  return typeof body === 'string' ? body.length : body.reduce((sum, { length }) => sum + length, 0);
}

/** What a write that waits for its reader takes besides its text: 290 bytes, as measured. */
const WRITE_BYTES = 290;

/** A response that is written in parts. The constructor throws a TypeError for an invalid header. */
export class ResponseStream implements HttpStream, Holder {
  ondrain: (() => void) | undefined;
  onclose: (() => void) | undefined;
  held = 0;
  readonly #call: CountedCall;
  readonly #outgoing: Outgoing;
  readonly #writer: ResponseWriter;
  readonly #server: Shared;
  /** How many writes wait for the reader. */
  #writes = 0;
  /** The bytes kept for the reader besides the written text. */
  #kept = 0;

  constructor(call: CountedCall, outgoing: Outgoing, server: Shared, status: number, headers: HttpHeaders) {
    checkHeaders(headers);
    this.#call = call;
    this.#outgoing = outgoing;
    this.#writer = new ResponseWriter(outgoing);
    this.#server = server;
    // Variables first, for the garbage collector (`CallExtra`).
    const drained = (): void => this.#drained();
    const close = (): void => this.#close();
    if (outgoing.destroyed || outgoing.headersSent) {
      setImmediate(close);
      return;
    }
    outgoing.ondrain = drained;
    outgoing.onclose = close;
    outgoing.begin(status, headers, undefined, server.draining);
  }

  write(text: string): boolean {
    const { destroyed, writableEnded } = this.#outgoing;
    if (destroyed || writableEnded || this.#writer.write(text)) return true;
    this.#writes += 1;
    this.#count(this.#writer.unread + this.#writes * WRITE_BYTES);
    return false;
  }

  end(): void {
    this.keep(-this.#kept);
    this.#writer.end();
    if (this.#writer.unread > 0) this.#outgoing.watch(this.#server.stallTimeout);
  }

  destroy(): void {
    this.#writer.destroy();
  }

  cutOff(): void {
    this.#server.refused(UNREAD);
    this.destroy();
  }

  keep(bytes: number): void {
    const unread = this.held - this.#kept;
    this.#kept += bytes;
    this.#count(unread);
  }

  watch(timeout: number): void {
    // The time counts from the last byte that the kernel took, even within one large write.
    this.#outgoing.watch(timeout);
  }

  #drained(): void {
    if (!this.#writer.continue()) return;
    this.#writes = 0;
    this.#count(0);
    this.ondrain?.();
  }

  #count(unread: number): void {
    if (this.#outgoing.destroyed) return;
    this.#server.budget.hold(this, unread + this.#kept);
  }

  #close(): void {
    this.#server.budget.hold(this, 0);
    this.#call.release();
    this.onclose?.();
    this.onclose = undefined;
  }
}
