import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { inNextTurn } from '../../src/base/next-turn.browser.ts';
import type { Span } from '../../src/inspect/spans/span.ts';
import { Visible } from '../ui/visible.tsx';
import { countText, durationText } from '../wire/format.ts';
import type { RecordStore } from '../wire/record-store.ts';
import type { Wire } from '../wire/wire.ts';
import { callFilter, ERRORS } from './call-filter.ts';
import { histogram, percentile, PERCENTILES, statsOf, type Bar, type CallStats } from './call-stats.ts';
import { ToolErrors } from './tool-errors.ts';

/** How often the figures change while calls come in. Milliseconds. */
const SHOW_MS = 500;
/** The most methods and tools that are shown. A server may invent many names. */
const MAX_SHOWN = 300;
const SIDES = ['client', 'server'] as const;

/** For a bridge: whose calls are shown. */
const side = signal<(typeof SIDES)[number]>('client');
/** The method or tool whose histogram is shown. */
const opened = signal<string | undefined>(undefined);

interface LatencyScreenProps {
  readonly wire: Wire;
  /** Shows the screen Wire. */
  readonly onwire: () => void;
}

/** How long calls took, by method and tool. */
export function LatencyScreen({ wire, onwire }: LatencyScreenProps): JSX.Element {
  const { store } = wire;
  const version = useSlowly(wire.source.version.value);
  const shownSide = store.hasBothSides ? side.value : undefined;
  const [pass, setPass] = useState(0);
  const { all, isPartial } = useMemo(() => {
    const errors = new ToolErrors(store);
    const stats = statsOf(
      spansOf(store, shownSide),
      (span) => errors.has(span),
      (span) => store.isProbe(span),
    );
    return { all: stats, isPartial: errors.isPartial };
  }, [store, shownSide, version, pass]);
  useEffect(() => {
    if (isPartial) inNextTurn(() => setPass(pass + 1));
  }, [isPartial, pass, version, shownSide]);
  const show = (stats: CallStats, terms: readonly string[]): void => {
    const isBothWays = all.some(({ method, dir }) => method === stats.method && dir !== stats.dir);
    wire.view.setFilter(callFilter(stats, { side: shownSide, isBothWays, terms }));
    onwire();
  };
  // The roles are written out, because the style gives the table another display on narrow screens.
  return (
    <div class="latency">
      <h2 class="visually-hidden">Latency</h2>
      {shownSide !== undefined && (
        <div class="segments" role="group" aria-label="Side of the bridge">
          {SIDES.map((each) => (
            <button
              key={each}
              type="button"
              aria-pressed={each === shownSide}
              onClick={() => {
                side.value = each;
              }}
            >
              {each === 'client' ? 'With the clients' : 'With the servers'}
            </button>
          ))}
        </div>
      )}
      {all.length === 0 ? (
        <p class="empty">No call has been recorded yet.</p>
      ) : (
        <table class="latency-table" role="table">
          <thead role="rowgroup">
            <tr role="row">
              <th scope="col" role="columnheader">
                Method and tool
              </th>
              <th scope="col" role="columnheader">
                Calls
              </th>
              <th scope="col" role="columnheader">
                Errors
              </th>
              {PERCENTILES.map((percent) => (
                <th scope="col" role="columnheader" key={percent}>
                  p{percent}
                </th>
              ))}
              <th scope="col" role="columnheader">
                Max
              </th>
            </tr>
          </thead>
          <tbody role="rowgroup">
            {all.slice(0, MAX_SHOWN).map((stats) => (
              <Calls key={keyOf(stats)} stats={stats} onshow={(...terms) => show(stats, terms)} />
            ))}
          </tbody>
        </table>
      )}
      {all.length > MAX_SHOWN && (
        <p class="soft">
          These are the {MAX_SHOWN} of {countText(all.length)} with the most calls.
        </p>
      )}
    </div>
  );
}

/** A version that changes only now and then. */
function useSlowly(version: number): number {
  const newest = useRef(version);
  newest.current = version;
  const [shown, setShown] = useState(version);
  const isLate = version !== shown;
  useEffect(() => {
    if (!isLate) return undefined;
    const timer = setTimeout(() => setShown(newest.current), SHOW_MS);
    return () => clearTimeout(timer);
  }, [isLate, shown]);
  return shown;
}

function* spansOf(store: RecordStore, shownSide: string | undefined): Generator<Span> {
  for (const span of store.spans.all()) if (store.sideOf(span.conn) === shownSide) yield span;
}

function keyOf({ method, tool, dir }: CallStats): string {
  return JSON.stringify([dir, method, tool]);
}

interface CallsProps {
  readonly stats: CallStats;
  /** Shows the calls to which these terms apply. */
  readonly onshow: (...terms: string[]) => void;
}

/** The row of a method or tool. */
function Calls({ stats, onshow }: CallsProps): JSX.Element {
  const { method, tool, dir, count, errors, durations } = stats;
  const isOpen = opened.value === keyOf(stats);
  const max = durations.at(-1);
  return (
    <>
      <tr role="row" class={isOpen ? 'open' : undefined}>
        <th scope="row" role="rowheader">
          <button
            type="button"
            class="quiet latency-name"
            aria-expanded={isOpen}
            onClick={() => {
              opened.value = isOpen ? undefined : keyOf(stats);
            }}
          >
            <Visible text={method.slice(0, 200)} />
            {tool !== undefined && (
              <>
                {' '}
                <strong>
                  <Visible text={tool.slice(0, 200)} />
                </strong>
              </>
            )}
            {dir === 's>c' && <span class="badge">from the server</span>}
          </button>
        </th>
        <td role="cell">
          <Figure text={countText(count)} what="calls" onshow={() => onshow()} />
        </td>
        <td role="cell" class={errors > 0 ? 'bad' : 'soft'}>
          {errors > 0 ? <Figure text={countText(errors)} what="errors" onshow={() => onshow(ERRORS)} /> : '0'}
        </td>
        {PERCENTILES.map((percent) => (
          <td role="cell" key={percent}>
            <Duration duration={percentile(durations, percent)} onshow={onshow} />
          </td>
        ))}
        <td role="cell">
          <Duration duration={max} onshow={onshow} />
        </td>
      </tr>
      {isOpen && (
        <tr role="row" class="open">
          <td role="cell" colSpan={4 + PERCENTILES.length}>
            <Histogram durations={durations} onshow={onshow} />
          </td>
        </tr>
      )}
    </>
  );
}

/** A number that leads to its calls. */
function Figure({ text, what, onshow }: { text: string; what: string; onshow: () => void }): JSX.Element {
  return (
    <button type="button" class="quiet" title={`Show these ${what} in Wire`} onClick={onshow}>
      {text}
      <span class="visually-hidden"> {what}, in Wire</span>
    </button>
  );
}

/** A duration that leads to the calls that took at least as long. */
function Duration({ duration, onshow }: { duration: number | undefined } & Pick<CallsProps, 'onshow'>): JSX.Element {
  if (duration === undefined) return <span class="soft">–</span>;
  return (
    <button
      type="button"
      class="quiet"
      title="Show calls that took at least as long"
      onClick={() => onshow(`dur>=${duration}us`)}
    >
      {durationText(duration)}
      <span class="visually-hidden"> or more, in Wire</span>
    </button>
  );
}

function Histogram({ durations, onshow }: Pick<CallStats, 'durations'> & Pick<CallsProps, 'onshow'>): JSX.Element {
  const bars = histogram(durations);
  const most = Math.max(...bars.map(({ count }) => count));
  if (bars.length === 0) return <p class="soft">None of these calls has been answered yet.</p>;
  return (
    <ul class="histogram" aria-label="Calls by duration">
      {bars.map((bar) => (
        <li key={bar.from}>
          <button
            type="button"
            disabled={bar.count === 0}
            title="Show these calls in Wire"
            onClick={() => onshow(`dur>=${bar.from}us`, `dur<${bar.to}us`)}
          >
            <span class="histogram-range">{rangeText(bar)}</span>
            <span class="histogram-bar">
              <span style={{ width: `${(bar.count / most) * 100}%` }} />
            </span>
            <span class="histogram-count">
              {countText(bar.count)}
              <span class="visually-hidden"> calls</span>
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function rangeText({ from, to }: Bar): string {
  return from === 0 ? `under ${roundText(to)}` : `${roundText(from)} – ${roundText(to)}`;
}

/** A bound of a bar, which is a round number. */
function roundText(bound: number): string {
  if (bound < 1000) return `${bound} µs`;
  return bound < 1e6 ? `${bound / 1000} ms` : `${countText(bound / 1e6)} s`;
}
