import { statfsSync } from 'node:fs';
import path from 'node:path';
import type { RootDatabase } from 'lmdb';

/** Nothing is written if less is free, in bytes: a write of `lmdb` that fails on a full disk can damage the memory of the process. */
const ENOUGH = 1024 * 1024;

interface Waiting {
  readonly work: () => void;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** An entry could not be written. */
export class StoreWriteFailed extends Error {
  override readonly name = 'StoreWriteFailed';

  constructor(cause: unknown) {
    super(`The store could not be written: ${(cause as Error).message}`, { cause });
  }
}

/**
 * Stores the writes of one turn of the event loop in one transaction: all of them or none. It does not use the
 * asynchronous writes of `lmdb`, because on a full disk they leave a rejection that nobody can handle, which ends the
 * process. As nothing is flushed, a transaction takes less than 0.1 ms.
 */
export class Writer {
  readonly #root: RootDatabase<Buffer, string>;
  readonly #file: string;
  #waiting: Waiting[] = [];

  /** @param file of the database. */
  constructor(root: RootDatabase<Buffer, string>, file: string) {
    this.#root = root;
    this.#file = file;
  }

  /**
   * @param work writes synchronously.
   * @throws StoreWriteFailed (rejects), for example if the disk is full.
   */
  write(work: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ work, resolve, reject });
      if (this.#waiting.length === 1) setImmediate(() => this.#store());
    });
  }

  /** Stores what waits, and closes the files. */
  async close(): Promise<void> {
    this.#store();
    await this.#root.close();
  }

  #store(): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    try {
      checkSpace(this.#file);
      this.#root.transactionSync(() => {
        for (const { work } of waiting) work();
      });
    } catch (error) {
      const failed = new StoreWriteFailed(error);
      for (const { reject } of waiting) reject(failed);
      return;
    }
    for (const { resolve } of waiting) resolve();
  }
}

/** @throws Error if the disk of a file is full. */
export function checkSpace(file: string): void {
  const { bavail, bsize } = statfsSync(path.dirname(file));
  if (bavail * bsize < ENOUGH) throw Object.assign(new Error('No space left on device'), { code: 'ENOSPC' });
}
