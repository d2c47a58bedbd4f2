import { allocate, decodeLatin1 } from '../base/bytes.ts';
import { decodeUtf8 } from '../base/utf8.ts';
import { isRequestId, type RequestId } from './message.ts';

/** What is known of a message that was not parsed. */
export interface Envelope {
  /** What the text starts as: one message, a batch, or something that is not JSON-RPC. */
  readonly kind: 'message' | 'batch' | 'other';
  /** Undefined if there is none or it cannot be read. */
  readonly id: RequestId | undefined;
  /** Whether it has an id, and so is not a notification. */
  readonly hasId: boolean;
  /** Whether it has a method, and so is not a response. */
  readonly hasMethod: boolean;
  /** Undefined if there is none or it is too long. */
  readonly method: string | undefined;
  /** What a response brings. */
  readonly outcome: 'result' | 'error' | undefined;
  /** Whether the brackets close, and nothing follows them. The JSON may still be invalid. */
  readonly whole: boolean;
  /** Whether the first element of a batch is an object. A line of a log may begin with a word in brackets. */
  readonly ofObjects: boolean;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
/** The longest key or scalar value that is read, in bytes. Our own ids are shorter. */
const MAX_TOKEN = 64;
/** In how many members of a refused message its id is searched. It may have millions. */
export const MAX_SEARCHED = 100;
/** The members that are read, and the length of the shortest with its quotes. */
const KEYS: ReadonlySet<unknown> = new Set(['id', 'method', 'result', 'error']);
const SHORTEST_KEY = 4;
/** A key or a string of ASCII characters without escapes. */
const PLAIN = /^"[^"\\\x80-\xff]*"$/;

/**
 * Reads the id of a message that is too large to be parsed, from its bytes in one or many pieces. Servers write the id
 * before or after the result. For invalid JSON the id may be missing or wrong.
 */
export class MessageSkim {
  #root: number | undefined;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #key: string | undefined;
  #token: Uint8Array | undefined;
  #tokenLength = 0;
  #id: RequestId | undefined;
  #hasId = false;
  #hasMethod = false;
  #method: string | undefined;
  #outcome: 'result' | 'error' | undefined;
  readonly #maxMembers: number;
  #members = 0;
  #ofObjects: boolean | undefined;
  /** Whether something follows the message. */
  #followed = false;

  /** @param maxMembers how many members are read. What follows is ignored. A JSON-RPC message has four. */
  constructor(maxMembers = Infinity) {
    this.#maxMembers = maxMembers;
  }

  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length && this.#members <= this.#maxMembers; at += 1) {
      const byte = bytes[at]!;
      if (this.#depth > 1) at = this.#skipNested(bytes, at);
      else if (this.#inString) {
        this.#keep(byte);
        if (this.#escaped) this.#escaped = false;
        else if (byte === BACKSLASH) this.#escaped = true;
        else if (byte === QUOTE) this.#inString = false;
      } else this.#structure(byte);
    }
  }

  /** Skips a nested value. Most bytes of a large message are here, so the state is in local variables. */
  #skipNested(bytes: Uint8Array, from: number): number {
    let [depth, inString, escaped] = [this.#depth, this.#inString, this.#escaped];
    let at = from;
    for (; at < bytes.length && depth > 1; at += 1) {
      const byte = bytes[at];
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === BACKSLASH) escaped = true;
        else if (byte === QUOTE) inString = false;
      } else if (byte === QUOTE) inString = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth += 1;
      else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth -= 1;
    }
    [this.#depth, this.#inString, this.#escaped] = [depth, inString, escaped];
    return at - 1;
  }

  get envelope(): Envelope {
    const kind = this.#root === OPEN_OBJECT ? 'message' : this.#root === OPEN_LIST ? 'batch' : 'other';
    return {
      kind,
      id: this.#id,
      hasId: this.#hasId,
      hasMethod: this.#hasMethod,
      method: this.#method,
      outcome: this.#outcome,
      whole: kind !== 'other' && this.#depth === 0 && !this.#followed,
      ofObjects: this.#ofObjects === true,
    };
  }

  #structure(byte: number): void {
    if (byte <= 0x20) return;
    if (this.#root === undefined) this.#root = byte;
    else if (this.#depth === 0) this.#followed = true;
    else this.#ofObjects ??= this.#root === OPEN_LIST && byte === OPEN_OBJECT;
    switch (byte) {
      case QUOTE:
        this.#inString = true;
        return this.#keep(byte);
      case OPEN_OBJECT:
      case OPEN_LIST:
        this.#depth += 1;
        return;
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        this.#member();
        this.#depth -= 1;
        return;
      case COLON:
        if (this.#depth === 1) this.#key = this.#takeKey();
        return;
      case COMMA:
        return this.#member();
      default:
        this.#keep(byte);
    }
  }

  /** Called at the end of a member of the message. */
  #member(): void {
    if (this.#depth !== 1 || this.#root !== OPEN_OBJECT) return;
    this.#members += 1;
    if (this.#key === undefined) return void (this.#tokenLength = 0);
    const value = this.#take();
    if (this.#key === 'id') {
      this.#hasId = true;
      this.#id = isRequestId(value) ? value : undefined;
    }
    if (this.#key === 'method') {
      this.#hasMethod = true;
      this.#method = typeof value === 'string' ? value : undefined;
    }
    if (this.#key === 'result' || this.#key === 'error') this.#outcome = this.#key;
    this.#key = undefined;
  }

  #keep(byte: number): void {
    if (this.#depth !== 1 || this.#tokenLength > MAX_TOKEN) return;
    this.#token ??= allocate(MAX_TOKEN + 1);
    this.#token[this.#tokenLength++] = byte;
  }

  /** The last key, if it is one of `KEYS`. A message may have millions of others. */
  #takeKey(): string | undefined {
    const key = this.#tokenLength < SHORTEST_KEY ? void (this.#tokenLength = 0) : this.#take();
    return KEYS.has(key) ? (key as string) : undefined;
  }

  /** The last key or scalar value; undefined if it is something else or too long. */
  #take(): unknown {
    const length = this.#tokenLength;
    this.#tokenLength = 0;
    if (length === 0 || length > MAX_TOKEN) return undefined;
    const token = decodeLatin1(this.#token!, length);
    if (PLAIN.test(token)) return token.slice(1, -1);
    try {
      return JSON.parse(decodeUtf8(this.#token!.subarray(0, length)) ?? '');
    } catch {
      return undefined;
    }
  }
}
