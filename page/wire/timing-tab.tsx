import type { JSX } from 'preact';
import type { Span } from '../../src/inspect/spans/span.ts';
import { Visible } from '../ui/visible.tsx';
import { countText, durationText, timeText } from './format.ts';
import { exchangesOf } from './related.ts';
import type { RecordStore } from './record-store.ts';
import { summaryOf } from './summary.ts';
import type { WireRecord } from './wire-record.ts';

/** The most calls of a batch that are shown. */
const MAX_CALLS = 10;

interface TimingTabProps {
  readonly record: WireRecord;
  readonly store: RecordStore;
  readonly started: Date | undefined;
  readonly onselect: (record: WireRecord) => void;
}

/** The times at which the parts of a call were sent. */
export function TimingTab({ record, store, started, onselect }: TimingTabProps): JSX.Element {
  const { spans } = record;
  return (
    <>
      <dl class="wire-facts">
        <dt>Recorded</dt>
        <dd>
          {timeText(record.t)}
          {started && <span class="soft"> {new Date(started.getTime() + record.t / 1000).toLocaleString()}</span>}
        </dd>
      </dl>
      {spans.slice(0, MAX_CALLS).map((span) => (
        <section key={span.number}>
          {spans.length > 1 && (
            <h3>
              <Visible text={`${span.method ?? 'request'} ${JSON.stringify(span.id)}`} />
            </h3>
          )}
          <SpanTimes span={span} record={record} store={store} onselect={onselect} />
        </section>
      ))}
      {spans.length === 0 && <p class="soft">This record belongs to no call, or it is uncertain to which.</p>}
      {spans.length > MAX_CALLS && <p class="soft">{countText(spans.length - MAX_CALLS)} more calls</p>}
    </>
  );
}

function SpanTimes({ span, record, store, onselect }: Omit<TimingTabProps, 'started'> & { span: Span }): JSX.Element {
  const { start, end, state, parent, omitted } = span;
  const records = span.records.map((n) => store.find(n)).filter((each) => each !== undefined);
  const first = firstByte(span, record, store);
  const last = Math.max(end ?? 0, records.at(-1)?.t ?? 0, start + 1);
  const place = (t: number): string => `${(((t - start) / (last - start)) * 98).toFixed(2)}%`;
  return (
    <>
      <dl class="wire-facts">
        <dt>State</dt>
        <dd>{store.isProbe(span) ? 'failed, as expected: a probe of an older server' : state.replace('_', ' ')}</dd>
        {first !== undefined && (
          <>
            <dt>First byte</dt>
            <dd>{durationText(first - start)}</dd>
          </>
        )}
        <dt>Total</dt>
        <dd>{end === undefined ? 'Still running' : durationText(end - start)}</dd>
        {parent?.records[0] !== undefined && (
          <>
            <dt>Asked by</dt>
            <dd>
              <RecordLink n={parent.records[0]} store={store} onselect={onselect} />
            </dd>
          </>
        )}
      </dl>
      <table class="wire-times">
        <thead>
          <tr>
            <th scope="col">#</th>
            <th scope="col">After</th>
            <th scope="col">What</th>
            <th scope="col">
              <span class="visually-hidden">Position in time</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {records.slice(0, 200).map((each) => (
            <tr key={each.n} aria-current={each === record || undefined}>
              <td>
                <RecordLink n={each.n} store={store} onselect={onselect} />
              </td>
              <td>{durationText(each.t - start)}</td>
              <td>
                {each.kind !== 'notification' && `${each.kind} `}
                <Visible text={each.method ?? summaryOf(each, store).what} />
              </td>
              <td class="wire-time-line">
                <span style={{ left: place(each.t) }} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {records.length + omitted > 200 && <p class="soft">{countText(records.length + omitted - 200)} more</p>}
    </>
  );
}

interface RecordLinkProps {
  readonly n: number;
  readonly store: RecordStore;
  readonly onselect: (record: WireRecord) => void;
}

function RecordLink({ n, store, onselect }: RecordLinkProps): JSX.Element {
  const record = store.find(n);
  return (
    <button type="button" class="quiet" disabled={!record} onClick={() => onselect(record!)}>
      {n}
    </button>
  );
}

/** When the first byte of the response was sent: over HTTP, the first byte of its head. */
function firstByte(span: Span, record: WireRecord, store: RecordStore): number | undefined {
  const heads = exchangesOf(record, store)
    .flatMap(({ records }) => records)
    .filter(({ layer, dir }) => layer === 'head' && dir !== span.dir);
  const answer = span.answer === undefined ? undefined : store.find(span.answer);
  const times = [...heads, ...(answer ? [answer] : [])].map(({ t }) => t).filter((t) => t >= span.start);
  return times.length > 0 ? Math.min(...times) : undefined;
}
