/** Characters that are passed on within a second. A server that is ill says the same over and over. */
const MAX_IN_A_SECOND = 256 * 1024;
const SECOND = 1000;
/** Bytes that may wait for who reads ours; whoever started this process may not read it at all. */
const MAX_BEHIND = 1024 * 1024;

/** Passes on what a server writes to stderr, and no more of it than whoever reads ours may take. */
export class StderrRelay {
  readonly #write: (line: string) => void;
  readonly #behind: () => number;
  #since = -Infinity;
  #passed = 0;
  #left = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * @param write takes a line, without its end.
   * @param behind how many bytes were written so and not read yet.
   */
  constructor(write: (line: string) => void, behind: () => number = () => 0) {
    this.#write = write;
    this.#behind = behind;
  }

  readonly line = (line: string): void => {
    const now = performance.now();
    if (now - this.#since >= SECOND) {
      this.#tell();
      this.#since = now;
      this.#passed = 0;
    }
    this.#passed += line.length + 1;
    if (this.#passed <= MAX_IN_A_SECOND && this.#behind() <= MAX_BEHIND) return this.#write(line);
    this.#left += 1;
    this.#tellLater();
  };

  #tellLater(): void {
    this.#timer ??= setTimeout(() => this.#tell(), SECOND).unref();
  }

  #tell(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#left === 0) return;
    if (this.#behind() > MAX_BEHIND) return this.#tellLater();
    this.#write(`(${this.#left} lines were left out: there were more than can be passed on)`);
    this.#left = 0;
  }
}
