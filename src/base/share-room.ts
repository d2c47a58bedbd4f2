import { ShareCounts } from './share.ts';

/** Limits what waits for one share at a time, so that one client does not take the room of all others. */
export class ShareRoom {
  readonly #maxCount: number;
  readonly #maxBytes: number;
  readonly #counts = new ShareCounts();
  readonly #bytes = new ShareCounts();

  /** @param maxBytes a single piece of work may have more. */
  constructor(maxCount: number, maxBytes: number) {
    this.#maxCount = maxCount;
    this.#maxBytes = maxBytes;
  }

  /** Does some work that counts until it is done. @throws (rejects) NoShareRoom if the share has no room for it. */
  async within<T>(share: string, bytes: number, work: () => Promise<T>): Promise<T> {
    const held = this.#bytes.of(share);
    if (held > 0 && held + bytes > this.#maxBytes) throw new NoShareRoom();
    if (this.#counts.of(share) >= this.#maxCount) throw new NoShareRoom();
    this.#counts.add(share);
    this.#bytes.add(share, bytes);
    try {
      return await work();
    } finally {
      this.#counts.remove(share);
      this.#bytes.remove(share, bytes);
    }
  }
}

/** Too much of one share waits already. */
export class NoShareRoom extends Error {
  override readonly name = 'NoShareRoom';

  constructor() {
    super('Too many messages of one client wait for other processes');
  }
}
