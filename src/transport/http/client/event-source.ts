import { StringDecoder } from 'node:string_decoder';
import { createParser } from 'eventsource-parser';

export interface ServerSentEvent {
  /** `message` if the server names none. */
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

/** The size that each line of an event adds to the event, in code units. */
const LINE = 64;

/** An event is larger than the limit. */
export class EventTooLarge extends Error {
  override readonly name = 'EventTooLarge';
}

/**
 * Reads server-sent events from the bytes of a stream (HTML standard, section 9.2.6). An incomplete event at the end of
 * the stream is ignored.
 */
export class EventSourceReader {
  /** Node's own decoder: `TextDecoder` costs several times as much for short chunks. */
  readonly #decoder = new StringDecoder('utf8');
  readonly #parser;
  readonly #maxEventLength: number;
  #started = false;
  /** The number of lines since the last event. */
  #lines = 0;
  #atLineStart = true;
  /**
   * Whether the last chunk ended with a carriage return, which ended a line. A line feed after it belongs to the same
   * line end.
   */
  #returned = false;
  #tooLarge = false;

  constructor({ onevent, onretry, maxEventLength }: EventSourceOptions) {
    this.#maxEventLength = maxEventLength;
    this.#parser = createParser({
      maxBufferSize: maxEventLength,
      onEvent: ({ event, data, id }) => {
        // The parser only limits its own buffer, and a complete event was never in it.
        if (data.length > maxEventLength) this.#tooLarge = true;
        if (!this.#tooLarge) onevent({ type: event ?? 'message', data, id });
      },
      ...(onretry ? { onRetry: onretry } : {}),
      onError: ({ type }) => {
        if (type === 'max-buffer-size-exceeded') this.#tooLarge = true;
      },
    });
  }

  /** @throws EventTooLarge if an event is larger than the limit. Nothing can be read after that. */
  feed(chunk: Uint8Array): void {
    let text = this.#decoder.write(chunk);
    if (text === '') return;
    if (!this.#started) {
      this.#started = true;
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    if (this.#returned && text.charCodeAt(0) === 0x0a) text = text.slice(1);
    // A final carriage return would make the parser wait for a next chunk, which may never come.
    this.#returned = text.endsWith('\r');
    if (this.#returned) text = text.replaceAll(/\r\n?/g, '\n');
    this.#count(text);
    if (!this.#tooLarge) this.#parser.feed(text);
    if (this.#tooLarge)
      throw new EventTooLarge(`An event of the server is larger than ${this.#maxEventLength} characters`);
  }

  /** The parser only counts the text of an event, but empty data lines also take memory. */
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
