import { computed, signal } from '@preact/signals';
import { FilterError, parseFilter, type Predicate } from '../../src/inspect/filter/parse.ts';
import { recordSubject, type FilterFinding } from '../../src/inspect/filter/subject.ts';
import { groupOf, layersOf, namesLayers, type LayerGroup } from './layers.ts';
import { firstFrom, type RecordStore } from './record-store.ts';
import { sizeOf, type WireRecord } from './wire-record.ts';

/** How long a filter may run before the page draws again. Milliseconds. */
const SLICE_MS = 50;
/** How much text a filter may read until it looks at the clock. Bytes. */
const MAX_READ = 256 * 1024;
/** Spans and findings change after their records were added. A filter that depends on them runs again after this time. */
const AGAIN_MS = 250;

/** Which records of a store are shown, and which one is selected. */
export class WireView {
  readonly #store: RecordStore;
  readonly #findingsAt: (n: number) => readonly FilterFinding[];
  /** Changes when `rows` did. */
  readonly version = signal(0);
  readonly filter = signal('');
  readonly groups = signal<ReadonlySet<LayerGroup>>(new Set(['Messages']));
  /** Whether the newest row is kept visible. */
  readonly follow = signal(true);
  /** The number of the last record that is shown while the view is paused. */
  readonly pausedAt = signal<number | undefined>(undefined);
  readonly selected = signal<WireRecord | undefined>(undefined);
  readonly marks = signal<ReadonlySet<number>>(new Set());
  /** What is wrong with the filter. While it has mistakes, the last filter without any is in use. */
  readonly mistake = computed(() => this.#parsed.value.mistake);
  readonly #parsed = computed(() => parse(this.filter.value));
  #rows: WireRecord[] = [];
  /** The rows that the filter finds. If it runs again, they are shown when it has seen all records. */
  #found = this.#rows;
  #dropped = 0;
  #predicate: Predicate = () => true;
  /** The last filter without mistakes. */
  #inUse = '';
  /** Undefined for all. */
  #layers: ReadonlySet<string> | undefined = layersOf(this.groups.value);
  #readsSpans = false;
  #readsFindings = false;
  /** The number of the last record that the filter saw. */
  #seen = 0;
  #read = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #again: ReturnType<typeof setTimeout> | undefined;

  /** @param findingsAt what the linter found in a record. Default: nothing. */
  constructor(store: RecordStore, findingsAt: (n: number) => readonly FilterFinding[] = () => []) {
    this.#store = store;
    this.#findingsAt = findingsAt;
  }

  /** The records that are shown, the oldest first. */
  get rows(): readonly WireRecord[] {
    return this.#rows;
  }

  /** How many rows left at the top because the store forgot them, since the filter was set. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Whether the filter has not seen all records yet. */
  get isBusy(): boolean {
    return this.#timer !== undefined;
  }

  setFilter(filter: string): void {
    this.filter.value = filter;
    this.#restart();
  }

  toggleGroup(group: LayerGroup): void {
    const groups = new Set(this.groups.value);
    if (!groups.delete(group)) groups.add(group);
    this.groups.value = groups;
    this.#restart();
  }

  togglePause(): void {
    this.pausedAt.value = this.pausedAt.value === undefined ? this.#store.newest : undefined;
    this.update();
  }

  toggleMark(): void {
    const { n } = this.selected.value ?? {};
    if (n === undefined) return;
    const marks = new Set(this.marks.value);
    if (!marks.delete(n)) marks.add(n);
    this.marks.value = marks;
  }

  /** Selects the next row with a mark, from the first again after the last. */
  nextMark(): void {
    const marked = this.#rows.filter(({ n }) => this.marks.value.has(n));
    const next = marked.find(({ n }) => n > (this.selected.value?.n ?? 0)) ?? marked[0];
    if (next) this.select(next);
  }

  select(record: WireRecord): void {
    this.selected.value = record;
    if (record !== this.#rows.at(-1)) this.follow.value = false;
  }

  /** Selects a record by its number. The filter may hide its row. */
  reveal(n: number): void {
    const record = this.#store.find(n);
    if (record) this.select(record);
  }

  /** Selects a record by its number. If its row is hidden, its layer is shown, and a filter that hides it is cleared. */
  show(n: number): void {
    const record = this.#store.find(n);
    if (!record) return;
    const filter = this.#matchesFilter(record) ? this.filter.value : '';
    const group = groupOf(record.layer);
    const isHidden = group !== undefined && !namesLayers(filter) && !this.groups.value.has(group);
    if (isHidden) this.groups.value = new Set([...this.groups.value, group]);
    if (isHidden || filter !== this.filter.value) this.setFilter(filter);
    this.select(record);
  }

  /** The row of a record, or of the next one that is shown. */
  indexOf({ n }: WireRecord): number {
    return firstFrom(this.#rows, n);
  }

  /** Selects the row that is some rows further. */
  move(by: number): void {
    const { selected } = this;
    const last = this.#rows.length - 1;
    if (last < 0) return;
    const at = selected.value ? this.indexOf(selected.value) : by > 0 ? -1 : last + 1;
    // The record may be hidden: then the next row is already one further.
    const from = selected.value && by > 0 && this.#rows[at] !== selected.value ? at - 1 : at;
    this.select(this.#rows[Math.max(0, Math.min(last, from + by))]!);
  }

  /** Shows what was added to the store. */
  update(): void {
    if (this.#timer === undefined) this.#run();
    if (this.#readsSpans) this.#runAgainSoon();
  }

  /** To be called when there are new findings, which come after their records. */
  updateFindings(): void {
    if (this.#readsFindings) this.#runAgainSoon();
  }

  #runAgainSoon(): void {
    this.#again ??= setTimeout(() => {
      this.#again = undefined;
      // What changes while it runs may be at a record that it has seen.
      if (this.isBusy) return this.#runAgainSoon();
      this.#seen = 0;
      this.#found = [];
      this.#run();
    }, AGAIN_MS);
  }

  #restart(): void {
    const { predicate } = this.#parsed.value;
    if (predicate) {
      this.#predicate = predicate;
      this.#inUse = this.filter.value;
    }
    this.#readsSpans = /state|dur/i.test(this.#inUse);
    this.#readsFindings = /lint|rule/i.test(this.#inUse);
    this.#layers = namesLayers(this.#inUse) ? undefined : layersOf(this.groups.value);
    this.#seen = 0;
    clearTimeout(this.#timer);
    clearTimeout(this.#again);
    this.#timer = this.#again = undefined;
    this.#found = this.#rows = [];
    this.#dropped = 0;
    this.#run();
  }

  /** Filters the records that it has not seen, for a limited time, and then goes on later. */
  #run(): void {
    this.#timer = undefined;
    const { records } = this.#store;
    const limit = this.pausedAt.value ?? Infinity;
    const until = performance.now() + SLICE_MS;
    const oldest = records[0]?.n ?? 0;
    if (this.#found !== this.#rows) forget(this.#found, oldest);
    this.#dropped += forget(this.#rows, oldest);
    for (let at = firstFrom(records, this.#seen + 1); at < records.length; at += 1) {
      const record = records[at]!;
      if (record.n > limit) break;
      if (this.#matches(record)) this.#found.push(record);
      this.#seen = record.n;
      if (at % 256 !== 0 && this.#read < MAX_READ) continue;
      this.#read = 0;
      if (performance.now() > until) {
        this.#timer = setTimeout(() => this.#run());
        break;
      }
    }
    if (!this.isBusy) this.#rows = this.#found;
    this.version.value += 1;
  }

  #matches(record: WireRecord): boolean {
    return this.#layers?.has(record.layer) !== false && this.#matchesFilter(record);
  }

  #matchesFilter(record: WireRecord): boolean {
    const text = (): string | undefined => {
      this.#read += record.range ? sizeOf(record.range) : 0;
      return this.#store.text(record);
    };
    // A batch is shown if one of its messages would be.
    const spans = record.spans.length === 0 ? [undefined] : record.spans;
    const findings = this.#readsFindings ? this.#findingsAt(record.n) : undefined;
    const tested = spans.length > 1 ? new Map<object, boolean>() : undefined;
    const more = { findings, side: this.#store.sideOf(record.conn), tested };
    return spans.some((span) => this.#predicate(recordSubject(record, span, text, more)));
  }
}

/** Removes the rows before a record, and returns how many. */
function forget(rows: WireRecord[], oldest: number): number {
  return (rows[0]?.n ?? oldest) < oldest ? rows.splice(0, firstFrom(rows, oldest)).length : 0;
}

function parse(filter: string): { predicate?: Predicate; mistake?: FilterError } {
  try {
    return { predicate: parseFilter(filter) };
  } catch (error) {
    if (error instanceof FilterError) return { mistake: error };
    throw error;
  }
}
