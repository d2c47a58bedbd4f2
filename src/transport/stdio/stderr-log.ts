import { StringDecoder } from 'node:string_decoder';

const TAIL = 8 * 1024;
/** A longer line is passed on in pieces. */
const MAX_LINE = 64 * 1024;
/** The limits of the tail in error messages, in lines and in UTF-16 units. */
const LAST_LINES = 8;
const LAST_UNITS = 1000;
/** Lines of Node, Python and npm errors that do not give the reason. */
const NOISE =
  /^\s*(?:at .*|Node\.js v\d.*|File ".*", line \d.*|\^+|npm (?:error|ERR!) A complete log of this run can be found in.*)$/;
/** The line of npm that says why a package could not be loaded. Advice follows it. */
const NPM_STATUS = /^npm (?:error|ERR!) \d{3} .* - [A-Z]+ http/;

/** The end of what Node prints for an error that nothing caught, and the line of it that names the error. */
const UNCAUGHT = /^Node\.js v\d/;
const NAMED_ERROR = /^(?:Uncaught )?[\w.$]*Error\b.*: ./;

/** A child's stderr. Each line is passed on, and the tail is kept for error messages. */
export class StderrLog {
  readonly #onLine: ((line: string) => void) | undefined;
  readonly #decoder = new StringDecoder('utf8');
  #tail = '';
  #line = '';

  constructor(onLine: ((line: string) => void) | undefined) {
    this.#onLine = onLine;
  }

  /** About the last 8 kB. */
  get tail(): string {
    return this.#tail;
  }

  /** The last meaningful line. Stack frames do not count, nor properties that Node prints below an error's message. */
  get lastLine(): string | undefined {
    const lines = this.#nonEmptyLines();
    const uncaught = lines.some((line) => UNCAUGHT.test(line))
      ? lines.findLast((line) => NAMED_ERROR.test(line))
      : undefined;
    const reason = uncaught ?? lines.findLast((line) => NPM_STATUS.test(line));
    const last = reason ?? lines.findLast((line) => !NOISE.test(line)) ?? lines.at(-1);
    return last && beginning(last, LAST_UNITS);
  }

  /** The last meaningful lines. */
  get lastLines(): string {
    const lines = this.#nonEmptyLines().filter((line) => !NOISE.test(line));
    return ending(lines.slice(-LAST_LINES).join('\n'), LAST_UNITS);
  }

  push(chunk: Buffer): void {
    this.#take(this.#decoder.write(chunk));
  }

  end(): void {
    this.#take(this.#decoder.end());
    if (this.#line !== '') this.#onLine?.(this.#line);
    this.#line = '';
  }

  #nonEmptyLines(): string[] {
    return this.#tail.split('\n').flatMap((line) => line.trim() || []);
  }

  #take(text: string): void {
    this.#tail = ending(this.#tail + text, TAIL);
    if (!this.#onLine) return;
    const lines = (this.#line + text).split('\n');
    const last = lines.pop() ?? '';
    const whole = last.length > MAX_LINE;
    this.#line = whole ? '' : last;
    for (const line of lines) this.#onLine(line.endsWith('\r') ? line.slice(0, -1) : line);
    if (whole) this.#onLine(last);
  }
}

/*
 * A text is cut between words, because half of a secret would not be recognized as one. A word that does not fit is
 * left out.
 */

function beginning(text: string, length: number): string {
  return text.length <= length
    ? text
    : text
        .slice(0, length + 1)
        .replace(/\S+$/, '')
        .trimEnd();
}

function ending(text: string, length: number): string {
  return text.length <= length
    ? text
    : text
        .slice(-length - 1)
        .replace(/^\S+/, '')
        .trimStart();
}
