import { StringDecoder } from 'node:string_decoder';

const TAIL = 8 * 1024;
/** A line longer than this is handed on in pieces. */
const MAX_LINE = 64 * 1024;

/** What a child writes to stderr: handed on line by line, its end kept for error messages. */
export class StderrLog {
  readonly #online: ((line: string) => void) | undefined;
  readonly #decoder = new StringDecoder('utf8');
  #tail = '';
  #line = '';

  constructor(online: ((line: string) => void) | undefined) {
    this.#online = online;
  }

  /** About the last 8 kB. */
  get tail(): string {
    return this.#tail;
  }

  /** The last line that says anything. */
  get lastLine(): string | undefined {
    return this.#tail.trimEnd().split('\n').at(-1)?.trim() || undefined;
  }

  push(chunk: Buffer): void {
    this.#take(this.#decoder.write(chunk));
  }

  end(): void {
    this.#take(this.#decoder.end());
    if (this.#line !== '') this.#online?.(this.#line);
    this.#line = '';
  }

  #take(text: string): void {
    this.#tail = (this.#tail + text).slice(-TAIL);
    if (!this.#online) return;
    const lines = (this.#line + text).split('\n');
    const last = lines.pop() ?? '';
    const whole = last.length > MAX_LINE;
    this.#line = whole ? '' : last;
    for (const line of lines) this.#online(line.endsWith('\r') ? line.slice(0, -1) : line);
    if (whole) this.#online(last);
  }
}
