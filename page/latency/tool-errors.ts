import type { Span } from '../../src/inspect/spans/span.ts';
import type { RecordStore } from '../wire/record-store.ts';
import { sizeOf } from '../wire/wire-record.ts';

/** How much of the answers is read at a time, because the page would freeze. Bytes. */
const MAX_READ = 4 * 1024 * 1024;

const known = new WeakMap<Span, boolean>();

/** Which calls of tools failed, by what their results say. To be made anew for each pass over the calls. */
export class ToolErrors {
  readonly #store: Pick<RecordStore, 'find' | 'text'>;
  #left = MAX_READ;
  #isPartial = false;

  constructor(store: Pick<RecordStore, 'find' | 'text'>) {
    this.#store = store;
  }

  /** Whether some results were not read. Another pass reads more. */
  get isPartial(): boolean {
    return this.#isPartial;
  }

  /** Whether the result of a call says that the tool failed. False as long as it was not read. */
  has(span: Span): boolean {
    if (span.tool === undefined || span.answer === undefined) return false;
    const before = known.get(span);
    if (before !== undefined) return before;
    if (this.#left <= 0) {
      this.#isPartial = true;
      return false;
    }
    const record = this.#store.find(span.answer);
    this.#left -= record?.range ? sizeOf(record.range) : 0;
    const failed = record !== undefined && saysError(this.#store.text(record) ?? '');
    known.set(span, failed);
    return failed;
  }
}

function saysError(text: string): boolean {
  if (!/"isError"\s*:\s*true/.test(text)) return false;
  try {
    const { result } = JSON.parse(text) as { result?: { isError?: unknown } };
    return result?.isError === true;
  } catch {
    return false;
  }
}
