import type { RootDatabase } from 'lmdb';

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
  #waiting: Waiting[] = [];

  constructor(root: RootDatabase<Buffer, string>) {
    this.#root = root;
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
