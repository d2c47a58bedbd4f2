import { StringDecoder } from 'node:string_decoder';
import { createParser } from 'eventsource-parser';

export interface ServerSentEvent {
  /** `message` where the server names none. */
  readonly type: string;
  readonly data: string;
  /** The event's own id; undefined where it has none. An empty one takes back the one before. */
  readonly id: string | undefined;
}

export interface EventSourceOptions {
  readonly onevent: (event: ServerSentEvent) => void;
  /** The server says how long to wait before connecting anew, in milliseconds. */
  readonly onretry?: (milliseconds: number) => void;
  /** The bound of one event, in UTF-16 code units. */
  readonly maxEventLength: number;
}

/** What each line of an event counts towards its bound, in code units. */
const LINE = 64;

/** An event is larger than it may be. */
export class EventTooLarge extends Error {
  override readonly name = 'EventTooLarge';
}

/**
 * Reads server-sent events out of the bytes of a stream (HTML standard, section 9.2.6), as they come. An event that is not
 * complete when the stream ends is none.
 */
export class EventSourceReader {
  /** Node's own decoder: `TextDecoder` costs several times as much for short chunks. */
  readonly #decoder = new StringDecoder('utf8');
  readonly #parser;
  readonly #maxEventLength: number;
  #started = false;
  /** Lines since the last event. */
  #lines = 0;
  #atLineStart = true;
  /** The last chunk ended with a carriage return, which was taken for the end of its line: a line feed would belong to it. */
  #returned = false;
  #tooLarge = false;

  constructor({ onevent, onretry, maxEventLength }: EventSourceOptions) {
    this.#maxEventLength = maxEventLength;
    this.#parser = createParser({
      maxBufferSize: maxEventLength,
      onEvent: ({ event, data, id }) => {
        // What came whole was never in the parser's buffer, whose bound is the only one it knows.
        if (data.length > maxEventLength) this.#tooLarge = true;
        if (!this.#tooLarge) onevent({ type: event ?? 'message', data, id });
      },
      ...(onretry ? { onRetry: onretry } : {}),
      onError: ({ type }) => {
        if (type === 'max-buffer-size-exceeded') this.#tooLarge = true;
      },
    });
  }

  /** @throws EventTooLarge where an event is larger than it may be; nothing can be read then any more. */
  feed(chunk: Uint8Array): void {
    let text = this.#decoder.write(chunk);
    if (text === '') return;
    if (!this.#started) {
      this.#started = true;
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    if (this.#returned && text.charCodeAt(0) === 0x0a) text = text.slice(1);
    // What ends with a carriage return would wait for the next chunk, which may never come.
    this.#returned = text.endsWith('\r');
    if (this.#returned) text = text.replaceAll(/\r\n?/g, '\n');
    this.#count(text);
    if (!this.#tooLarge) this.#parser.feed(text);
    if (this.#tooLarge)
      throw new EventTooLarge(`An event of the server is larger than ${this.#maxEventLength} characters`);
  }

  /** The parser counts the text of an event only, but empty lines of data take memory, too. */
  #count(text: string): void {
    const lines = text.replaceAll(/\r\n?/g, '\n');
    let at = 0;
    for (let end = lines.indexOf('\n'); end !== -1; end = lines.indexOf('\n', at)) {
      const isEmpty = end === at && (at > 0 || this.#atLineStart);
      this.#lines = isEmpty ? 0 : this.#lines + 1;
      if (this.#lines * LINE > this.#maxEventLength) this.#tooLarge = true;
      at = end + 1;
    }
    this.#atLineStart = at === lines.length;
  }
}
