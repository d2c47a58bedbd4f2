import { fieldName, type FieldName } from './field-name.ts';
import { SecretParameters } from './secrets.ts';

const SPACE = 0x20;
const TAB = 0x09;
/** The longest field name, in bytes. No head is longer. */
const MAX_NAME = 64 * 1024;

/** Called with the start and end of a secret value, as offsets in the stream. A value may come in several pieces. */
export type OnSecret = (start: number, end: number) => void;

/**
 * Finds the secrets in lines: the values of secret fields, and of secret parameters in a request target or another URL.
 * It finds the same in pieces of any size, and reads each character once, because a peer may be hostile.
 */
export class SecretLines {
  /** The field in this line, or the field that this line continues. Undefined before the colon. */
  field: FieldName | undefined;
  readonly #onsecret: OnSecret;
  /** Undefined until the line has a character that separates parameters. */
  #parameters: SecretParameters | undefined;
  #name = '';
  #next: 'line' | 'name' | 'value' | 'rest of value' | 'lost' = 'line';

  constructor(onsecret: OnSecret) {
    this.#onsecret = onsecret;
  }

  /** The next bytes begin a line. */
  restart(): void {
    this.#next = 'line';
  }

  /** Bytes are missing. The rest of the line counts as secret, because a secret may have begun in the missing bytes. */
  lose(): void {
    this.#next = 'lost';
  }

  /** @param offset where the text begins in the stream. Each character is one byte. */
  push(text: string, offset: number): void {
    for (let at = 0; at < text.length;) {
      const feed = text.indexOf('\n', at);
      const end = feed === -1 ? text.length : feed + 1;
      this.pushPiece(text.slice(at, end), offset + at);
      at = end;
    }
  }

  /** Like `push`, for a piece of one line. It may end with a line feed. */
  pushPiece(text: string, offset: number): void {
    if (this.#next === 'line') this.#begin(text.charCodeAt(0));
    const value = this.#next === 'name' ? this.#readName(text) : 0;
    if (this.#next === 'lost') this.#hide(text, 0, offset);
    else if (this.field?.isSecret) {
      this.#hideParameters(text.slice(0, value), offset);
      this.#hide(text, value, offset);
    } else this.#hideParameters(text, offset);
    if (text.endsWith('\n')) this.#next = 'line';
  }

  #hideParameters(text: string, offset: number): void {
    if (!this.#parameters && !text.includes('?') && !text.includes('&')) return;
    this.#parameters ??= new SecretParameters();
    for (const [start, end] of this.#parameters.next(text)) this.#onsecret(offset + start, offset + end);
  }

  #hide(text: string, start: number, offset: number): void {
    if (this.#next === 'value') while (isBlank(text.charCodeAt(start))) start += 1;
    // A carriage return is never secret, because it may belong to the line end.
    for (const { 0: part, index } of text.slice(start).matchAll(/[^\r\n]+/g)) {
      if (this.#next === 'value') this.#next = 'rest of value';
      this.#onsecret(offset + start + index, offset + start + index + part.length);
    }
  }

  #begin(first: number): void {
    this.#parameters = undefined;
    // A line that begins with a blank continues the previous field.
    this.#next = isBlank(first) ? 'value' : 'name';
    if (this.#next === 'value') return;
    this.#name = '';
    this.field = undefined;
  }

  /** @returns where the value begins: at the end if there is no colon. */
  #readName(text: string): number {
    const colon = text.indexOf(':');
    if (colon === -1) {
      if (this.#name.length < MAX_NAME) this.#name += text;
      return text.length;
    }
    this.field = fieldName(this.#name + text.slice(0, colon));
    this.#next = 'value';
    return colon + 1;
  }
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}
