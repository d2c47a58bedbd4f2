import { statSync, watch, type FSWatcher } from 'node:fs';
import path from 'node:path';
import { readRegularFile } from './regular-file.ts';

export interface ConfigWatchOptions {
  /** Told that the file has other contents now, or that it is there again, or gone. */
  readonly onchange: () => void;
  /** Told where the file system cannot watch. */
  readonly onwarning: (message: string) => void;
  /** Milliseconds to wait for more changes: editors write in several steps. Default 200. */
  readonly debounce?: number | undefined;
  /** Milliseconds between two looks where the file system cannot watch. Default 2000. */
  readonly pollInterval?: number | undefined;
  /** Default: that of `node:fs`. */
  readonly watch?: typeof watch | undefined;
}

/** Stops to watch. */
export interface ConfigWatch {
  close(): void;
}

/**
 * Watches a file for other contents. It is its folder that is watched, for editors and deployments put another file in its
 * place. Where the file system cannot do that, the file is looked at now and then. Does not keep the process alive.
 */
export function watchConfig(file: string, options: ConfigWatchOptions): ConfigWatch {
  return new FileWatch(file, options);
}

class FileWatch implements ConfigWatch {
  readonly #file: string;
  readonly #options: ConfigWatchOptions;
  #contents: string | undefined;
  #watcher: FSWatcher | undefined;
  /** The folder that is watched: its name may come to mean another. */
  #folder: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #poll: NodeJS.Timeout | undefined;

  constructor(file: string, options: ConfigWatchOptions) {
    this.#file = path.resolve(file);
    this.#options = options;
    this.#contents = contentsOf(this.#file);
    this.#start();
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    clearTimeout(this.#timer);
    clearInterval(this.#poll);
  }

  #start(): void {
    const folder = path.dirname(this.#file);
    try {
      const watching = (this.#options.watch ?? watch)(folder, () => this.#soon());
      watching.on('error', (error) => this.#fallBack(error));
      watching.unref();
      this.#watcher = watching;
      this.#folder = identityOf(folder);
    } catch (error) {
      this.#fallBack(error as Error);
    }
  }

  #fallBack(error: Error): void {
    if (this.#poll) return;
    this.#watcher?.close();
    this.#watcher = undefined;
    const { onwarning, pollInterval = 2000 } = this.#options;
    onwarning(`cannot watch ${this.#file}, and looks at it every ${pollInterval} ms instead: ${error.message}`);
    this.#poll = setInterval(() => this.#look(), pollInterval).unref();
  }

  #soon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#look(), this.#options.debounce ?? 200).unref();
  }

  #look(): void {
    const folder = path.dirname(this.#file);
    if (this.#watcher && identityOf(folder) !== this.#folder) {
      this.#watcher.close();
      this.#start();
    }
    const contents = contentsOf(this.#file);
    if (contents === this.#contents) return;
    this.#contents = contents;
    this.#options.onchange();
  }
}

/** Undefined where it cannot be read. */
function contentsOf(file: string): string | undefined {
  try {
    return readRegularFile(file).toString('utf8');
  } catch {
    return undefined;
  }
}

/** Tells a folder from another of its name. */
function identityOf(folder: string): string | undefined {
  try {
    const { dev, ino } = statSync(folder);
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
