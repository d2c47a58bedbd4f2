import { isUtf8 } from 'node:buffer';
import type { BytesRecord, WireRecord } from './record.ts';

/** The memory at first. */
const SIZE = 2 * 1024 * 1024;
/** The most bytes that JSON needs for one: `\u0001`. */
const MAX_ESCAPE = 6;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const ASTERISK = 0x2a;
const SPACE = 0x20;
const LINE_END = Buffer.from('"}\n');

/** For each byte below 0x20 its escape in JSON, as `JSON.stringify` writes it. */
const CONTROLS = Array.from({ length: SPACE }, (_, code) =>
  Buffer.from(JSON.stringify(String.fromCharCode(code)).slice(1, -1)),
);

/**
 * Writes records as lines of a recording. It works with bytes and not with strings, and uses its memory again: for most
 * records, strings would cost more than all else.
 */
export class LineBuffer {
  readonly #mask: boolean;
  #buffer = Buffer.allocUnsafeSlow(SIZE);
  #used = 0;

  /** @param mask whether secrets are replaced by asterisks. */
  constructor(mask: boolean) {
    this.#mask = mask;
  }

  get isEmpty(): boolean {
    return this.#used === 0;
  }

  add(record: WireRecord): void {
    if (record.layer === 'bytes') return this.#addBytes(record);
    const line = Buffer.from(`${JSON.stringify(record)}\n`);
    this.#reserve(line.length);
    this.#used += line.copy(this.#buffer, this.#used);
  }

  /** The lines that were added since the last call. They are valid until the next line is added. */
  take(): Buffer {
    const lines = this.#buffer.subarray(0, this.#used);
    this.#used = 0;
    return lines;
  }

  #addBytes(record: BytesRecord): void {
    const { n, t, conn, dir, range, secret } = record;
    const bytes = this.#mask ? masked(record) : record.bytes;
    const isText = isUtf8(bytes);
    const secrets = secret ? `"secret":[${secret.join(',')}],` : '';
    const head = `{"n":${n},"t":${t},"conn":${conn},"dir":"${dir}","layer":"bytes","range":[${range[0]},${range[1]}],${secrets}"${isText ? 'data' : 'base64'}":"`;
    this.#reserve(head.length + bytes.length * MAX_ESCAPE + LINE_END.length);
    this.#used += this.#buffer.write(head, this.#used, 'latin1');
    if (isText) this.#used = escape(bytes, this.#buffer, this.#used);
    else this.#used += this.#buffer.write(bytes.toString('base64'), this.#used, 'latin1');
    this.#used += LINE_END.copy(this.#buffer, this.#used);
  }

  #reserve(size: number): void {
    if (this.#used + size <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * (this.#used + size));
    this.#buffer.copy(larger, 0, 0, this.#used);
    this.#buffer = larger;
  }
}

/** Writes text as the content of a JSON string. @returns the end of what was written. */
function escape(text: Buffer, target: Buffer, start: number): number {
  let to = start;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at]!;
    if (byte > BACKSLASH || (byte >= SPACE && byte !== QUOTE && byte !== BACKSLASH)) target[to++] = byte;
    else if (byte < SPACE) {
      const sequence = CONTROLS[byte]!;
      for (let i = 0; i < sequence.length; i += 1) target[to++] = sequence[i]!;
    } else {
      target[to++] = BACKSLASH;
      target[to++] = byte;
    }
  }
  return to;
}

/** Each byte of a secret becomes an asterisk, so ranges stay correct. */
function masked({ bytes, range: [offset], secret }: BytesRecord): Buffer {
  if (!secret) return bytes;
  const copy = Buffer.from(bytes);
  for (let i = 0; i < secret.length; i += 2) copy.fill(ASTERISK, secret[i]! - offset, secret[i + 1]! - offset);
  return copy;
}
