import { Component, type JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { LintBadge } from '../lint/lint-badge.tsx';
import type { Lint } from '../lint/lint.ts';
import { rowsIn, useRowWindow } from '../ui/row-window.ts';
import { visible, Visible } from '../ui/visible.tsx';
import { APP_DIRECTIONS, DIRECTIONS, durationText, sizeText, timeText } from './format.ts';
import type { RecordStore } from './record-store.ts';
import { summaryOf } from './summary.ts';
import { sizeOf, type WireRecord } from './wire-record.ts';
import type { WireView } from './wire-view.ts';

/** As in the style. Pixels. */
const ROW = 24;

const COLUMNS = [
  ['n', '#'],
  ['time', 'Time'],
  ['dir', 'Dir'],
  ['conn', 'Conn'],
  ['kind', 'Kind'],
  ['lint', 'Lint'],
  ['what', 'Method or text'],
  ['name', 'Name'],
  ['size', 'Size'],
  ['took', 'Took'],
] as const;

interface GridProps {
  readonly store: RecordStore;
  readonly lint: Lint;
  readonly view: WireView;
  /** Called when the user opens the details of the selected row. */
  readonly onenter: () => void;
}

/** The records, with a window of rows that moves over them. */
export function WireGrid({ store, lint, view, onenter }: GridProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const window = useRowWindow(box, ROW);
  const { rows } = view;
  // Read, so that the grid is drawn again when the rows change.
  const version = view.version.value + lint.version.value;
  const selected = view.selected.value;
  const follow = view.follow.value;
  // Where the grid scrolls to while it follows, below its head. A scroll event comes only after the next frame has begun.
  const last = follow ? Math.max(0, (rows.length + 1) * ROW - window.height.value) : undefined;
  const [start, end] = rowsIn(window, ROW, rows.length, last);
  useFollow(box, view, window.height.value);
  useSelectedInSight(box, view);
  const onKeyDown = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor(window.height.value / ROW) - 2);
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
    if (by !== undefined) view.move(by);
    else if (event.key === 'Enter' && selected) onenter();
    else return;
    event.preventDefault();
  };
  const shown: JSX.Element[] = [];
  for (let at = start; at < end; at += 1) {
    const record = rows[at]!;
    shown.push(
      <Row
        key={at}
        record={record}
        index={at}
        store={store}
        lint={lint}
        version={version}
        isSelected={record === selected}
        isMarked={view.marks.value.has(record.n)}
      />,
    );
  }
  const isShown = selected !== undefined && rows.slice(start, end).includes(selected);
  return (
    <div
      class={`wire-grid ${store.hasSides ? 'two-sided' : ''}`}
      role="grid"
      aria-label="Wire records"
      aria-rowcount={rows.length + 1}
      aria-colcount={COLUMNS.length}
      aria-activedescendant={isShown ? rowId(selected) : undefined}
      tabIndex={0}
      ref={box}
      data-follow={follow}
      onKeyDown={onKeyDown}
      onClick={(event) => {
        const row = (event.target as Element).closest<HTMLElement>('[aria-rowindex]');
        const record = row && rows[Number(row.ariaRowIndex) - 2];
        if (record) view.select(record);
      }}
    >
      <div role="rowgroup" class="wire-columns">
        <div role="row" class="wire-row" aria-rowindex={1}>
          {COLUMNS.map(([name, title]) => (
            <span role="columnheader" class={`w-${name}`} key={name}>
              {title}
            </span>
          ))}
        </div>
      </div>
      <div
        role="rowgroup"
        class="wire-rows"
        style={{ height: `${rows.length * ROW}px`, paddingTop: `${start * ROW}px` }}
      >
        {shown}
      </div>
    </div>
  );
}

/** Keeps the newest row visible until the user scrolls up. From then on, the visible rows stay in place. */
function useFollow(box: { current: HTMLDivElement | null }, view: WireView, height: number): void {
  const before = useRef(0);
  const dropped = useRef(0);
  useLayoutEffect(() => {
    const element = box.current!;
    // More than the height of the grid: the browser then scrolls to its end.
    if (view.follow.value) element.scrollTop = (view.rows.length + 2) * ROW;
    else if (view.dropped > dropped.current) {
      const { scrollTop, clientHeight, scrollHeight } = element;
      // The grid is shorter now. If it is at its end, the browser may have scrolled it there.
      const top = scrollTop + clientHeight >= scrollHeight - 1 ? Math.max(before.current, scrollTop) : scrollTop;
      element.scrollTop = top - (view.dropped - dropped.current) * ROW;
    }
    dropped.current = view.dropped;
    before.current = element.scrollTop;
  }, [box, view, view.version.value, view.follow.value, height]);
  useEffect(() => {
    const element = box.current!;
    const onScroll = (): void => {
      const isEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - ROW;
      // New rows do not scroll the grid, so only the user can have scrolled up.
      if (element.scrollTop < before.current && !isEnd) view.follow.value = false;
      before.current = element.scrollTop;
    };
    element.addEventListener('scroll', onScroll, { passive: true });
    return () => element.removeEventListener('scroll', onScroll);
  }, [box, view]);
}

function useSelectedInSight(box: { current: HTMLDivElement | null }, view: WireView): void {
  const selected = view.selected.value;
  useLayoutEffect(() => {
    const element = box.current!;
    if (!selected) return;
    const top = view.indexOf(selected) * ROW;
    const height = element.clientHeight - 2 * ROW;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top > element.scrollTop + height) element.scrollTop = top - height;
  }, [box, view, selected]);
}

function rowId({ n }: WireRecord): string {
  return `wire-${n}`;
}

interface RowProps {
  readonly record: WireRecord;
  readonly index: number;
  readonly store: RecordStore;
  readonly lint: Lint;
  /** Changes when anything else that the row shows may have. */
  readonly version: number;
  readonly isSelected: boolean;
  readonly isMarked: boolean;
}

/** A row that is drawn again only if it has changed, because most rows stay while the window moves. */
class Row extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    return (Object.keys(next) as (keyof RowProps)[]).some((name) => next[name] !== this.props[name]);
  }

  override render(): JSX.Element {
    return <RowView {...this.props} />;
  }
}

function RowView({ record, index, store, lint, isSelected, isMarked }: RowProps): JSX.Element {
  const { n, t, dir, conn, layer, range } = record;
  const { kind, what, name } = summaryOf(record, store);
  const open = store.openOf(conn);
  const probe = record.spans.some((span) => store.isProbe(span)) ? 'is-probe' : '';
  const side = store.isAuthorization(record) ? 'auth' : store.sideOf(conn);
  const [arrow, direction] = (side === 'app' ? APP_DIRECTIONS : DIRECTIONS)[dir ?? ''] ?? ['', ''];
  return (
    <div
      role="row"
      id={rowId(record)}
      class={`wire-row k-${kind} d-${dir === 'c>s' ? 'up' : dir === 's>c' ? 'down' : 'none'} ${probe}`}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
    >
      <span role="gridcell" class="w-n">
        {isMarked && <span class="wire-mark" role="img" aria-label="Marked" />}
        {n}
      </span>
      <span role="gridcell" class="w-time">
        {timeText(t)}
      </span>
      <span role="gridcell" class="w-dir">
        {arrow !== '' && (
          <>
            <span aria-hidden="true">{arrow}</span>
            <span class="visually-hidden">{direction}</span>
          </>
        )}
      </span>
      <span role="gridcell" class="w-conn" title={open && visible(summaryOf(open, store).what)}>
        {conn}
        {side !== undefined && <span class="soft"> {side}</span>}
      </span>
      <span role="gridcell" class="w-kind">
        {kind}
      </span>
      <span role="gridcell" class="w-lint">
        <LintBadge findings={lint.findings.at(n)} />
      </span>
      <span role="gridcell" class="w-what" title={visible(what.slice(0, 500))}>
        <Visible text={what.slice(0, 300)} />
      </span>
      <span role="gridcell" class="w-name" title={name && visible(name.slice(0, 500))}>
        {name !== undefined && <Visible text={name.slice(0, 200)} />}
      </span>
      <span role="gridcell" class="w-size">
        {range && sizeText(sizeOf(range))}
      </span>
      <span role="gridcell" class="w-took">
        {layer === 'message' && <Took record={record} store={store} />}
      </span>
    </div>
  );
}

/**
 * For a request, how it ended; for its response, how long it took. For a batch, a call without a result comes first.
 */
function Took({ record: { n, spans }, store }: { record: WireRecord; store: RecordStore }): JSX.Element | null {
  const ends = spans.filter(({ records, answer }) => n === records[0] || n === answer);
  const span = ends.find(({ state }) => state !== 'done') ?? ends[0];
  if (!span) return null;
  const { state, start, end } = span;
  const duration = end === undefined ? '' : durationText(end - start);
  if (n === span.answer || state === 'done') return <>{duration}</>;
  if (store.isProbe(span))
    return (
      <span class="soft" title="The server is older, so it answered the probe of the client with an error.">
        probe
      </span>
    );
  const kind = { open: 'warn', input_required: 'warn', cancelled: 'soft', failed: 'bad', unanswered: 'bad' }[state];
  return <span class={kind}>{state === 'input_required' ? 'input' : state}</span>;
}
