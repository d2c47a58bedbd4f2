/** Characters that are passed on per second. A broken server may repeat the same line endlessly. */
const MAX_IN_A_SECOND = 256 * 1024;
const SECOND = 1000;
/** Bytes that may be buffered for our own stderr. The parent process may never read it. */
const MAX_BEHIND = 1024 * 1024;

/** Passes on a server's stderr, within a limit on rate and on unread bytes. */
export class StderrRelay {
  readonly #write: (line: string) => void;
  readonly #behind: () => number;
  #since = -Infinity;
  #passed = 0;
  #left = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * @param write writes a line, given without its line end.
   * @param behind how many written bytes are not read yet.
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
    this.#write(`(${this.#left} lines were left out: the server wrote too much)`);
    this.#left = 0;
  }
}
