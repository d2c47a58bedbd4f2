import { BodyReader, type Framing } from './http-body.ts';
import { HeadReader } from './head-reader.ts';
import { FrameReader } from './frames.ts';
import { MessageReader } from './message-reader.ts';
import type { OnPart, Part } from './record.ts';
import { SecretLines, type OnSecret } from './secret-lines.ts';

const CLOSE: Framing = { kind: 'close' };
/** The most unanswered HEAD and CONNECT requests that are remembered. No real server lets so many wait. */
const MAX_SPECIAL = 1000;
/** How many bytes are searched for the first line of a head after a loss. */
const MAX_FIRST_LINE = 4096;

/** What the two directions of an HTTP connection must know of each other. */
export class HttpExchanges {
  /** Set when the connection no longer carries HTTP: after an upgrade or a tunnel. */
  switched = false;
  /** How often bytes were missing. */
  losses = 0;
  /** The number of the newest request. */
  newest = 0;
  /** The number of the first request after the last loss. Undefined if none has come yet. */
  resumed: number | undefined = 1;
  /** Requests whose answers are framed differently, by their number. */
  readonly #special = new Map<number, 'HEAD' | 'CONNECT'>();

  requested(exchange: number, method: string): void {
    this.newest = exchange;
    if ((method === 'HEAD' || method === 'CONNECT') && this.#special.size < MAX_SPECIAL)
      this.#special.set(exchange, method);
  }

  /** The method of the request, if the framing of its answer depends on it. */
  answered(exchange: number): 'HEAD' | 'CONNECT' | undefined {
    const method = this.#special.get(exchange);
    this.#special.delete(exchange);
    return method;
  }

  lose(): void {
    this.losses += 1;
    this.resumed = undefined;
    this.#special.clear();
  }
}

/** Reads one direction of an HTTP/1.1 connection. Never throws: a malformed part gets a note, and ends the reading. */
export class HttpStream {
  readonly #exchanges: HttpExchanges;
  readonly #isRequest: boolean;
  readonly #onpart: OnPart | undefined;
  readonly #secrets: SecretLines;
  #head: HeadReader;
  #body: BodyReader | undefined;
  #bodyStart = 0;
  #content: Content | undefined;
  #exchange = 1;
  /** Whether the following bytes cannot be read as HTTP. Then they are only searched for secrets. */
  #opaque = false;
  /** How many bytes were read. */
  #end = 0;
  /** How many of the connection's losses this stream has handled. */
  #losses = 0;
  /** Whether bytes are missing, so that it is unknown where the next head begins. */
  #lost = false;

  /** @param onpart receives the parts. Undefined to find only the secrets. */
  constructor(
    direction: 'requests' | 'responses',
    exchanges: HttpExchanges,
    onpart: OnPart | undefined,
    onsecret: OnSecret,
  ) {
    this.#isRequest = direction === 'requests';
    this.#exchanges = exchanges;
    this.#onpart = onpart;
    this.#secrets = new SecretLines(onsecret);
    this.#head = new HeadReader(this.#secrets);
  }

  push(chunk: Buffer): void {
    if (this.#losses !== this.#exchanges.losses) this.#lose();
    if (this.#lost) this.#resume(chunk);
    const offset = this.#end;
    this.#end += chunk.length;
    for (let at = 0; at < chunk.length && !this.#exchanges.switched;) {
      if (this.#opaque) at = this.#readOpaque(chunk, at, offset);
      else if (this.#body) at = this.#readBody(this.#body, chunk, at, offset);
      else at = this.#readHead(chunk, at, offset);
    }
  }

  /** The next bytes are missing. Neither direction of the connection can be read until the next request. */
  skip(count: number): void {
    this.#exchanges.lose();
    this.#lose();
    this.#secrets.lose();
    this.#end += count;
  }

  /** There are no more bytes. */
  end(): void {
    this.#cutOff(this.#body?.endsWithStream ? undefined : 'cut off');
  }

  /** Ends a head or body that is incomplete. */
  #cutOff(bodyNote: string | undefined): void {
    if (this.#opaque || this.#exchanges.switched) return;
    if (this.#body) this.#endBody(this.#end, bodyNote);
    else if (this.#head.start !== undefined)
      this.#emit({ layer: 'head', range: [this.#head.start, this.#end], note: 'cut off' });
  }

  #lose(): void {
    this.#losses = this.#exchanges.losses;
    this.#cutOff('cut off');
    this.#lost = true;
    this.#opaque = true;
  }

  /**
   * Resumes reading if these bytes begin with a head. They do if the client waits for each response before its next
   * request.
   */
  #resume(chunk: Buffer): void {
    const exchanges = this.#exchanges;
    const line = chunk.toString('latin1', 0, MAX_FIRST_LINE);
    if (!(this.#isRequest ? /^[A-Z]+ \S+ HTTP\/1\.\d\r?\n/ : /^HTTP\/1\.\d [1-9]\d\d[ \r\n]/).test(line)) return;
    if (this.#isRequest) exchanges.resumed = exchanges.newest + 1;
    if (exchanges.resumed === undefined) return;
    this.#exchange = exchanges.resumed;
    this.#lost = false;
    this.#opaque = false;
    this.#secrets.restart();
    this.#head = new HeadReader(this.#secrets);
  }

  #readOpaque(chunk: Buffer, at: number, offset: number): number {
    this.#secrets.push(chunk.toString('latin1', at), offset + at);
    return chunk.length;
  }

  #readHead(chunk: Buffer, at: number, offset: number): number {
    const head = this.#head;
    const end = head.push(chunk, at, offset);
    if (head.start === undefined || head.state === 'reading') return end;
    const range = [head.start, offset + end];
    const problem = head.state === 'too large' ? 'larger than 64 KiB' : this.#firstLineProblem(head.firstLine);
    if (problem !== undefined) {
      this.#emit({ layer: 'head', range, note: problem });
      this.#opaque = true;
      return end;
    }
    const { framing, note = head.note } = this.#framing(head);
    this.#emit({ layer: 'head', range, note });
    this.#head = new HeadReader(this.#secrets);
    if (framing === 'interim') return end;
    if (framing === undefined) this.#exchange += 1;
    else this.#beginBody(framing, head, offset + end);
    return end;
  }

  #firstLineProblem(line: string): string | undefined {
    const valid = this.#isRequest ? /^\S+ \S+ HTTP\/1\.\d$/ : /^HTTP\/1\.\d [1-9]\d\d( |$)/;
    return valid.test(line) ? undefined : 'not HTTP/1.1';
  }

  /** How the body is framed. Undefined if there is none. */
  #framing(head: HeadReader): { framing: Framing | 'interim' | undefined; note?: string | undefined } {
    const line = head.firstLine;
    if (this.#isRequest) {
      this.#exchanges.requested(this.#exchange, line.slice(0, line.indexOf(' ')));
      return bodyFraming(head, undefined);
    }
    const status = Number(line.slice(9, 12));
    if (status === 101) this.#exchanges.switched = true;
    if (status < 200) return { framing: 'interim' };
    const method = this.#exchanges.answered(this.#exchange);
    if (method === 'CONNECT' && status < 300) this.#exchanges.switched = true;
    if (method !== undefined && (method === 'HEAD' || status < 300)) return { framing: undefined };
    if (status === 204 || status === 304) return { framing: undefined };
    return bodyFraming(head, CLOSE);
  }

  #beginBody(framing: Framing, head: HeadReader, start: number): void {
    this.#bodyStart = start;
    const content = this.#onpart && contentOf(head, (part) => this.#emit(part));
    this.#content = content;
    this.#body = new BodyReader(framing, {
      oncontent: (bytes, offset) => content?.push(bytes, offset),
      onchunk: (from, to) => this.#emit({ layer: 'chunk', range: [from, to] }),
      secrets: this.#secrets,
    });
  }

  #readBody(body: BodyReader, chunk: Buffer, at: number, offset: number): number {
    const end = body.push(chunk, at, offset);
    if (body.state !== 'reading') this.#endBody(offset + end, body.note);
    if (body.state === 'malformed') this.#opaque = true;
    return end;
  }

  #endBody(end: number, note: string | undefined): void {
    this.#content?.end();
    this.#content = undefined;
    this.#body = undefined;
    if (end > this.#bodyStart) this.#emit({ layer: 'body', range: [this.#bodyStart, end], note });
    this.#exchange += 1;
  }

  #emit(part: Part): void {
    part.exchange = this.#exchange;
    this.#onpart?.(part);
  }
}

/** Reads the content of a body, without its framing. */
interface Content {
  push(bytes: Buffer, offset: number): void;
  end(): void;
}

/** A reader for the content. Undefined for compressed content, whose messages are not ranges of the stream. */
function contentOf(head: HeadReader, onpart: OnPart): Content | undefined {
  if (!/^(identity)?$/i.test(head.field('content-encoding') ?? '')) return undefined;
  if (/^text\/event-stream\s*(;|,|$)/i.test(head.field('content-type') ?? '')) return new FrameReader(onpart);
  const message = new MessageReader();
  return {
    push: (bytes, offset) => message.push(bytes, offset),
    end: () => {
      const part = message.take();
      if (part) onpart(part);
    },
  };
}

/** The framing that the headers name (RFC 9112, section 6.3). @param otherwise the framing if they name none. */
function bodyFraming(
  head: HeadReader,
  otherwise: Framing | undefined,
): { framing: Framing | undefined; note?: string } {
  const coding = head.field('transfer-encoding');
  const lengths = head.field('content-length');
  if (coding !== undefined) {
    const chunked = /(^|,)\s*chunked\s*$/i.test(coding);
    const framing: Framing = chunked ? { kind: 'chunked' } : (otherwise ?? CLOSE);
    if (!chunked && !otherwise) return { framing, note: 'a request whose end is unknown' };
    return lengths === undefined ? { framing } : { framing, note: 'both Transfer-Encoding and Content-Length' };
  }
  if (lengths === undefined) return { framing: otherwise };
  const length = lengths.includes(',') ? onlyOf(lengths.split(',').map((value) => value.trim())) : lengths;
  if (length === undefined || !/^\d{1,15}$/.test(length))
    return { framing: otherwise ?? CLOSE, note: 'a malformed Content-Length' };
  return { framing: length === '0' ? undefined : { kind: 'length', length: Number(length) } };
}

/** The value that all of them have. Undefined if they differ. */
function onlyOf(values: readonly string[]): string | undefined {
  return values.every((value) => value === values[0]) ? values[0] : undefined;
}
