import { isWide } from '../../../base/text-memory.ts';
import { utf8Stream } from '../../../base/utf8-stream.ts';

export interface ServerSentEvent {
  /** `message` if the server gives no type. */
  readonly type: string;
  readonly data: string;
  /** The event's own id. Undefined if it has none. An empty id clears the previous one. */
  readonly id: string | undefined;
}

export interface EventSourceOptions {
  readonly onevent: (event: ServerSentEvent) => void;
  /** Called with the time to wait before reconnecting, in milliseconds. */
  readonly onretry?: (milliseconds: number) => void;
  /** The largest event, in UTF-16 code units. */
  readonly maxEventLength: number;
}

/** What each line counts towards the limit of an event, in code units. */
const LINE_OVERHEAD = 64;
/** How many pieces of an incomplete line are joined at a time. */
const MAX_PIECES = 1024;

/** An event is larger than the limit. */
export class EventTooLarge extends Error {
  override readonly name = 'EventTooLarge';
}

/**
 * Reads server-sent events from the bytes of a stream (HTML standard, section 9.2.6). Unknown fields are ignored, and so
 * is an incomplete event at the end of the stream.
 */
export class EventSourceReader {
  readonly #decode = utf8Stream();
  readonly #options: EventSourceOptions;
  #started = false;
  /**
   * Whether the last chunk ended with a carriage return. If so, a line feed at the start of the next chunk belongs to
   * the same line end.
   */
  #returned = false;
  /**
   * The start of an incomplete line: pieces as they came, after parts that were joined from many. A list of a million short
   * pieces would take many times their size, and long to join. No text is joined more than twice, so a line takes linear time.
   */
  #pieces: string[] = [];
  #parts: string[] = [];
  #type = '';
  #data: string[] = [];
  #id: string | undefined;
  /** The lines of the event so far, and the length of their text, whatever their fields. */
  #lines = 0;
  #size = 0;
  /** Whether its text may take two bytes for each character. */
  #isWide = false;

  constructor(options: EventSourceOptions) {
    this.#options = options;
  }

  /** About how many bytes of memory the event takes whose end has not come yet. */
  get unfinished(): number {
    return this.#isWide ? 2 * this.#size : this.#size;
  }

  /** @throws EventTooLarge if an event is larger than the limit. Nothing can be read after that. */
  feed(chunk: Uint8Array): void {
    let text = this.#decode(chunk);
    if (text === '') return;
    if (!this.#started) {
      this.#started = true;
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    if (this.#returned && text.charCodeAt(0) === 0x0a) text = text.slice(1);
    this.#returned = text.endsWith('\r');
    if (text.includes('\r')) text = text.replaceAll(/\r\n?/g, '\n');
    const wide = isWide(text);
    this.#isWide ||= wide;
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      const line = this.#join(text.slice(start, end));
      if (line === '') this.#dispatch();
      else this.#line(line);
      start = end + 1;
    }
    if (start === text.length) return;
    this.#isWide ||= wide;
    this.#grow(text.length - start);
    this.#pieces.push(text.slice(start));
    if (this.#pieces.length < MAX_PIECES) return;
    this.#parts.push(this.#pieces.join(''));
    this.#pieces = [];
  }

  /** The line that ends with this text. */
  #join(end: string): string {
    this.#grow(end.length);
    if (this.#pieces.length === 0 && this.#parts.length === 0) return end;
    const line = this.#parts.join('') + this.#pieces.join('') + end;
    this.#parts = [];
    this.#pieces = [];
    return line;
  }

  #grow(length: number): void {
    this.#size += length;
    const { maxEventLength } = this.#options;
    // Many short lines take more memory than their text.
    if (this.#size > maxEventLength || this.#lines * LINE_OVERHEAD > maxEventLength)
      throw new EventTooLarge(`An event from the server is larger than ${maxEventLength} characters`);
  }

  #line(line: string): void {
    this.#lines += 1;
    this.#grow(0);
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line.charCodeAt(colon + 1) === 0x20 ? colon + 2 : colon + 1);
    if (field === 'data') this.#data.push(value);
    else if (field === 'event') this.#type = value;
    else if (field === 'id') {
      if (!value.includes('\0')) this.#id = value;
    } else if (field === 'retry' && /^\d+$/.test(value)) this.#options.onretry?.(Number(value));
  }

  /** Handles the empty line that ends an event. An event without data is ignored. */
  #dispatch(): void {
    const event = { type: this.#type || 'message', data: this.#data.join('\n'), id: this.#id };
    const isEvent = this.#data.length > 0;
    this.#type = '';
    this.#data = [];
    this.#id = undefined;
    this.#lines = 0;
    this.#size = 0;
    this.#isWide = false;
    if (isEvent) this.#options.onevent(event);
  }
}
