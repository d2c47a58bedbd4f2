import { PART_OF_ONE, ShareCounts } from '../base/share.ts';

/** The most calls at a time, and the most bytes of them. A single call may have more. */
export interface CallLimits {
  readonly calls: number;
  readonly bytes: number;
}

/** Limits calls that are in progress. One share leaves room for those of others. */
export class CallRoom {
  readonly #limits: CallLimits;
  readonly #countsOf = new ShareCounts();
  readonly #bytesOf = new ShareCounts();
  #count = 0;
  #bytes = 0;

  constructor(limits: CallLimits) {
    this.#limits = limits;
  }

  /** How a further call has no room: there are too many, or too many of its share. Undefined if it has room. */
  lacking(bytes: number, share: string | undefined): 'all' | 'share' | undefined {
    const { calls, bytes: maxBytes } = this.#limits;
    if (this.#count >= calls || (this.#bytes > 0 && this.#bytes + bytes > maxBytes)) return 'all';
    if (share === undefined) return undefined;
    const held = this.#bytesOf.of(share);
    const isFull =
      this.#countsOf.of(share) >= calls * PART_OF_ONE || (held > 0 && held + bytes > maxBytes * PART_OF_ONE);
    return isFull ? 'share' : undefined;
  }

  /** Counts a call until the returned function is called, once. */
  take(bytes: number, share: string | undefined): () => void {
    this.#add(bytes, share);
    return () => this.#remove(bytes, share);
  }

  #add(bytes: number, share: string | undefined): void {
    this.#count += 1;
    this.#bytes += bytes;
    if (share === undefined) return;
    this.#countsOf.add(share);
    this.#bytesOf.add(share, bytes);
  }

  #remove(bytes: number, share: string | undefined): void {
    this.#count -= 1;
    this.#bytes -= bytes;
    if (share === undefined) return;
    this.#countsOf.remove(share);
    this.#bytesOf.remove(share, bytes);
  }
}
