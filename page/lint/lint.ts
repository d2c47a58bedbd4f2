import { effect, signal, type ReadonlySignal } from '@preact/signals';
import { firstFrom, type RecordStore } from '../wire/record-store.ts';
import type { PageFinding } from './finding.ts';
import { Findings } from './findings.ts';
import { sentRecord, type SentRecord } from './sent-record.ts';

/** After this many records or bytes, a batch is complete. */
const BATCH_RECORDS = 5000;
const BATCH_BYTES = 1024 * 1024;
/** How often the page shows new findings. Milliseconds. */
const SHOW_MS = 250;

/** The part of a `Worker` that judges records. */
export interface LintWorker {
  postMessage(records: readonly SentRecord[], transfer: []): void;
  terminate(): void;
  onmessage: ((event: MessageEvent<readonly PageFinding[]>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
}

/**
 * Judges the records of a store by the rules of the revision that was negotiated. A worker asks for the next records
 * when it has judged the last ones. Nothing waits for it but the records that the store keeps anyway.
 */
export class Lint {
  readonly findings = new Findings();
  /** Changes when findings were added, or more was judged. */
  readonly version = signal(0);
  /** Why nothing more is judged. */
  readonly problem = signal<string | undefined>(undefined);
  readonly #store: RecordStore;
  readonly #start: () => LintWorker;
  #worker: LintWorker | undefined;
  #isBusy = false;
  /** The number of the last record that was sent to the worker. */
  #sent = 0;
  #judged = 0;
  #skipped = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param added changes when the store has new records. */
  constructor(store: RecordStore, added: ReadonlySignal<unknown>, start: () => LintWorker) {
    this.#store = store;
    this.#start = start;
    effect(() => {
      void added.value;
      this.#next();
    });
  }

  /** The number of the last record that was judged. */
  get judged(): number {
    return this.#judged;
  }

  /** How many records the store dropped before they could be judged. */
  get skipped(): number {
    return this.#skipped;
  }

  #next(): void {
    if (this.#isBusy || this.problem.peek() !== undefined) return;
    const batch = this.#batch();
    if (batch.length === 0) {
      this.#judged = this.#sent;
      return;
    }
    this.#isBusy = true;
    this.#worker ??= this.#open();
    this.#worker.postMessage(batch, []);
  }

  /** The next records. If the store dropped some, the first is a gap. */
  #batch(): readonly SentRecord[] {
    const { records } = this.#store;
    let at = firstFrom(records, this.#sent + 1);
    const first = records[at];
    if (!first) return [];
    const batch: SentRecord[] = [];
    const before = first.from ?? first.n;
    if (before > this.#sent + 1) {
      batch.push({ n: before - 1, layer: 'gap' });
      this.#skipped += before - 1 - this.#sent;
    }
    for (let size = 0; at < records.length && batch.length < BATCH_RECORDS && size < BATCH_BYTES; at += 1) {
      const record = records[at]!;
      this.#sent = record.n;
      if (this.#store.isAuthorization(record)) continue;
      batch.push(sentRecord(record));
      size += record.content?.length ?? 0;
    }
    return batch;
  }

  #open(): LintWorker {
    const worker = this.#start();
    worker.onmessage = ({ data }) => {
      this.#isBusy = false;
      this.#judged = this.#sent;
      this.findings.add(data);
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.version.value += 1;
      }, SHOW_MS);
      this.#next();
    };
    worker.onerror = (event) => {
      event.preventDefault();
      worker.terminate();
      this.problem.value = event.message || 'The rules could not be loaded.';
    };
    return worker;
  }
}
