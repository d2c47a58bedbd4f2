import { versionOf } from '../../bridge/config/watch.ts';

/** How often the files are looked at, in milliseconds. */
export const POLL_INTERVAL = 100;

/**
 * Calls `onchange` when files have changed, were removed or were created. It waits until no file changes for 100 ms,
 * because an editor may write several files, or one in several steps. It looks at each file again and again, which
 * works on every file system, in containers, and for files that are replaced.
 */
export class FileWatch {
  readonly #onchange: (files: readonly string[]) => void;
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #versions = new Map<string, string | undefined>();
  readonly #changed = new Set<string>();

  constructor(onchange: (files: readonly string[]) => void) {
    this.#onchange = onchange;
    this.#timer = setInterval(() => this.#poll(), POLL_INTERVAL);
    this.#timer.unref();
  }

  /** Watches another file. It need not exist. */
  add(file: string): void {
    if (!this.#versions.has(file)) this.#versions.set(file, versionOf(file));
  }

  /** Forgets all files. */
  clear(): void {
    this.#versions.clear();
    this.#changed.clear();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #poll(): void {
    let quiet = true;
    for (const [file, known] of this.#versions) {
      const version = versionOf(file);
      if (version === known) continue;
      this.#versions.set(file, version);
      this.#changed.add(file);
      quiet = false;
    }
    if (!quiet || this.#changed.size === 0) return;
    const changed = [...this.#changed];
    this.#changed.clear();
    this.#onchange(changed);
  }
}
