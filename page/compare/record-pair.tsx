import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { JsonTree } from '../ui/json-tree.tsx';
import type { RecordStore } from '../wire/record-store.ts';
import type { WireRecord } from '../wire/wire-record.ts';
import { comparedRecords, type ComparedMessages } from './compared-records.ts';
import { Differences } from './differences.tsx';

interface RecordPairProps {
  readonly before: WireRecord;
  readonly after: WireRecord;
  readonly store: RecordStore;
  /** Shows a record in Wire. */
  readonly onshow: (n: number) => void;
}

/** Two calls or two messages, side by side. */
export function RecordPair({ before, after, store, onshow }: RecordPairProps): JSX.Element {
  const compared = useMemo(() => comparedRecords(before, after, store), [before, after, store]);
  return (
    <>
      <p class="toolbar">
        {[before, after].map(({ n }, at) => (
          <button key={at} type="button" onClick={() => onshow(n)}>
            {at === 0 ? 'First' : 'Second'}: record #{n}
          </button>
        ))}
      </p>
      {compared.map((each) => (
        <Messages key={each.title} {...each} />
      ))}
    </>
  );
}

function Messages({ title, before, after, differences }: ComparedMessages): JSX.Element | null {
  if (before === undefined && after === undefined) return null;
  const list = differences?.map((each) => ({ ...each, place: each.pointer }));
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {list === undefined ? (
        <p class="notice">Only one of the two calls has it, it is not JSON, or it is no longer in memory.</p>
      ) : list.length === 0 ? (
        <p class="soft">No differences. Ids, cursors, times and “_meta” do not count.</p>
      ) : (
        <Differences list={list} label={`Differences: ${title}`} />
      )}
      <div class="compare-sides">
        {[before, after].map((text, at) => (
          <div key={at} class="block">
            {text === undefined ? (
              <p class="empty">Nothing</p>
            ) : (
              <JsonTree text={text} label={`${at === 0 ? 'First' : 'Second'}: ${title}`} />
            )}
          </div>
        ))}
      </div>
    </section>
  );
}
