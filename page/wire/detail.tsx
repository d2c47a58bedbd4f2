import { signal, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Lint } from '../lint/lint.ts';
import { LintTab } from '../lint/lint-tab.tsx';
import { tabPanel, TabList } from '../ui/tabs.tsx';
import { Visible } from '../ui/visible.tsx';
import { BytesTab } from './bytes-tab.tsx';
import { badgeText } from './format.ts';
import { FramesTab } from './frames-tab.tsx';
import { HttpTab } from './http-tab.tsx';
import { MessageTab } from './message-tab.tsx';
import type { RecordStore } from './record-store.ts';
import { otherSideOf, Requests } from './related.ts';
import { summaryOf } from './summary.ts';
import { TimingTab } from './timing-tab.tsx';
import type { WireRecord } from './wire-record.ts';
import type { WireView } from './wire-view.ts';

const TABS = ['Message', 'HTTP', 'Frames', 'Bytes', 'Lint', 'Timing'] as const;
/** The most calls of a batch that are shown. */
const MAX_CALLS = 10;
const tab = signal<(typeof TABS)[number]>('Message');

interface DetailProps {
  readonly record: WireRecord;
  readonly store: RecordStore;
  readonly lint: Lint;
  readonly view: WireView;
  readonly started: ReadonlySignal<Date | undefined>;
  /** What can be done with the record. */
  readonly actions: JSX.Element;
}

/** Everything about the selected record. */
export function Detail({ record, store, lint, view, started, actions }: DetailProps): JSX.Element {
  const { n, spans } = record;
  const { kind, what, name } = summaryOf(record, store);
  const shown = spans.slice(0, MAX_CALLS);
  const others = useMemo(() => {
    const requests = new Requests(store);
    return shown.map((span) => otherSideOf(span, store, requests)?.records[0]);
  }, [record, shown.map(({ state }) => state).join()]);
  const select = (each: WireRecord): void => view.select(each);
  const content = {
    Message: () => <MessageTab record={record} store={store} />,
    HTTP: () => <HttpTab record={record} store={store} />,
    Frames: () => <FramesTab record={record} store={store} onselect={select} />,
    Bytes: () => <BytesTab record={record} store={store} />,
    Lint: () => <LintTab record={record} lint={lint} view={view} />,
    Timing: () => <TimingTab record={record} store={store} started={started.value} onselect={select} />,
  };
  return (
    <section class="wire-detail" aria-label="Selected record">
      <div class="wire-detail-head">
        <h2>
          <span class="soft">
            #{n} {kind}
          </span>{' '}
          <Visible text={what.slice(0, 200)} />
          {name !== undefined && (
            <>
              {' '}
              <span class="wire-detail-name">
                <Visible text={name.slice(0, 200)} />
              </span>
            </>
          )}
        </h2>
        <div class="toolbar">
          <JumpButtons title="Request" to={shown.map(({ records }) => records[0])} current={n} view={view} />
          <JumpButtons title="Response" to={shown.map(({ answer }) => answer)} current={n} view={view} />
          <JumpButtons title="Other side" to={others} current={n} view={view} />
          {actions}
        </div>
      </div>
      {shown.some((span) => store.isProbe(span)) && (
        <p class="wire-probe soft">
          A probe: the server is older than 2026-07-28, so it answered server/discover with an error. The client went on
          with initialize.
        </p>
      )}
      <TabList
        id="wire"
        label="Views of the record"
        tabs={TABS.map((each) => ({ name: each, extra: each === 'Lint' && <LintCount lint={lint} n={n} /> }))}
        selected={tab.value}
        onselect={(selected) => {
          tab.value = selected;
        }}
      />
      {TABS.map((each) => (
        <div key={each} class="wire-detail-panel" {...tabPanel('wire', each, tab.value)}>
          {each === tab.value && content[each]()}
        </div>
      ))}
    </section>
  );
}

/** How many findings the record shows. */
function LintCount({ lint, n }: { lint: Lint; n: number }): JSX.Element | null {
  void lint.version.value;
  const { length } = lint.findings.of(n);
  return length === 0 ? null : (
    <span class="count">
      {badgeText(length)}
      <span class="visually-hidden"> findings</span>
    </span>
  );
}

interface JumpButtonsProps {
  readonly title: string;
  /** The numbers of records. The messages of a batch can lead to several. */
  readonly to: readonly (number | undefined)[];
  readonly current: number;
  readonly view: WireView;
}

function JumpButtons({ title, to, current, view }: JumpButtonsProps): JSX.Element {
  const numbers = [...new Set(to)].filter((n) => n !== undefined && n !== current) as number[];
  return (
    <>
      {numbers.map((n) => (
        <button type="button" key={n} onClick={() => view.reveal(n)}>
          {numbers.length === 1 ? title : `${title} #${n}`}
        </button>
      ))}
    </>
  );
}
