/** The size of a batch. The largest event has 64 KiB. */
export const BATCH = 1024 * 1024;
/** How many batches can be written and not read: 16 MiB. The reader falls behind only if the machine is busy. */
const SLOTS = 16;

const FREE = 0;
const IN_USE = 1;

/**
 * Memory for batches that two threads share: one writes them, the other reads them. A slot is used again as soon as it
 * was read, so the memory stays in the caches of the processor, and nothing is allocated.
 */
export class BatchSlots {
  /** To be given to the other thread. */
  readonly memory: SharedArrayBuffer;
  readonly #states: Int32Array;
  readonly #slots: readonly Buffer[];

  /** @param memory from the other thread. */
  constructor(memory: SharedArrayBuffer = memoryFor(SLOTS)) {
    this.memory = memory;
    const count = Math.floor(memory.byteLength / (BATCH + Int32Array.BYTES_PER_ELEMENT));
    this.#states = new Int32Array(memory, count * BATCH, count);
    this.#slots = Array.from({ length: count }, (_, slot) => Buffer.from(memory, slot * BATCH, BATCH));
  }

  /** For the writer: takes a slot that is free. Undefined if there is none. */
  take(): number | undefined {
    for (let slot = 0; slot < this.#states.length; slot += 1) {
      if (Atomics.load(this.#states, slot) !== FREE) continue;
      Atomics.store(this.#states, slot, IN_USE);
      return slot;
    }
    return undefined;
  }

  /** For the writer: how many slots are in use. */
  get used(): number {
    let count = 0;
    for (let slot = 0; slot < this.#states.length; slot += 1) count += Atomics.load(this.#states, slot);
    return count;
  }

  /** For the writer: the memory of a slot that it has taken. */
  at(slot: number): Buffer {
    return this.#slots[slot]!;
  }

  /** For the reader: copies a batch, and frees its slot. */
  read(slot: number, length: number): Buffer {
    const batch = Buffer.allocUnsafeSlow(length);
    this.#slots[slot]!.copy(batch, 0, 0, length);
    Atomics.store(this.#states, slot, FREE);
    return batch;
  }
}

/** The memory for a number of slots. A page of it is real only once it was written. */
export function memoryFor(slots: number): SharedArrayBuffer {
  return new SharedArrayBuffer(slots * (BATCH + Int32Array.BYTES_PER_ELEMENT));
}
