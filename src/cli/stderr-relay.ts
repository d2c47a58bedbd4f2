/** Characters that are passed on within a second. A server that is ill says the same over and over. */
const MAX_IN_A_SECOND = 256 * 1024;
const SECOND = 1000;

/** Passes on what a server writes to stderr, and no more of it than whoever reads ours may take. */
export class StderrRelay {
  readonly #write: (line: string) => void;
  #since = -Infinity;
  #passed = 0;
  #left = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param write takes a line, without its end. */
  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  readonly line = (line: string): void => {
    const now = performance.now();
    if (now - this.#since >= SECOND) {
      this.#tell();
      this.#since = now;
      this.#passed = 0;
    }
    this.#passed += line.length + 1;
    if (this.#passed <= MAX_IN_A_SECOND) return this.#write(line);
    this.#left += 1;
    this.#timer ??= setTimeout(() => this.#tell(), SECOND).unref();
  };

  #tell(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#left === 0) return;
    this.#write(`(${this.#left} lines were left out: it wrote more than ${MAX_IN_A_SECOND / 1024} kB within a second)`);
    this.#left = 0;
  }
}
