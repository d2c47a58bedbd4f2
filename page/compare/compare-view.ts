import { signal } from '@preact/signals';
import type { WireRecord } from '../wire/wire-record.ts';

/** The records that the user compares. */
export class CompareView {
  readonly first = signal<WireRecord | undefined>(undefined);
  readonly second = signal<WireRecord | undefined>(undefined);
  readonly #show: () => void;

  /** @param show shows the screen of comparisons. */
  constructor(show: () => void) {
    this.#show = show;
  }

  /** Whether a record was chosen, and the next one is compared with it. */
  get isWaiting(): boolean {
    return this.first.value !== undefined && this.second.value === undefined;
  }

  /** Chooses a record. The second one shows the comparison. */
  choose(record: WireRecord): void {
    if (!this.isWaiting || this.first.value === record) {
      this.first.value = record;
      this.second.value = undefined;
      return;
    }
    this.second.value = record;
    this.#show();
  }
}
