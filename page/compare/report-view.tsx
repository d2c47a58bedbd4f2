import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { SessionComparison } from '../../src/inspect/page-server/session-api.ts';
import type { ComparedRequest } from '../../src/replay/compare.ts';
import type { NotRepeated } from '../../src/replay/replay.ts';
import { countsOf, summaryOf } from '../../src/replay/summary.ts';
import { JsonView } from '../explore/json-view.tsx';
import { Portions, ShowMore } from '../ui/portions.tsx';
import { Visible } from '../ui/visible.tsx';
import { Differences } from './differences.tsx';

/** The most requests that are shown at once, and rows of their differences. Two recordings may have thousands. */
const MAX_REQUESTS = 10;
const MAX_ROWS = 100;
const MAX_NOT_REPEATED = 100;

/** What differs between two sessions. */
export function ReportView({ report }: { report: SessionComparison }): JSX.Element {
  const { requests, notRepeated = [], notes, differs } = report;
  const other = requests.filter(({ outcome }) => outcome !== 'same');
  return (
    <section aria-label="Report" class="compare-report">
      <p class={differs ? 'notice warn' : 'notice good'} role="status">
        Both sessions: {summaryOf(report)} ({countsOf(report)})
      </p>
      <Portions items={other} portion={requestPortion}>
        {(request, at) => <Request key={at} request={request} />}
      </Portions>
      {notRepeated.length > 0 && <NotRepeatedList list={notRepeated} />}
      {notes.map((note) => (
        <p key={note} class="soft">
          <Visible text={note} />
        </p>
      ))}
    </section>
  );
}

/** How many requests are shown at once: few with many differences, but at least one. */
function requestPortion(requests: readonly ComparedRequest[], from: number): number {
  let room = MAX_ROWS;
  const portion = requests.slice(from, from + MAX_REQUESTS);
  const end = portion.findIndex(({ differences }) => (room -= differences.length) < 0);
  return end === -1 ? portion.length : Math.max(end, 1);
}

function NotRepeatedList({ list }: { list: readonly NotRepeated[] }): JSX.Element {
  const shown = useSignal(MAX_NOT_REPEATED);
  const more = list.length - shown.value;
  return (
    <section aria-label="Not repeated">
      <h3>Not repeated</h3>
      <ul>
        {list.slice(0, shown.value).map(({ title, record, why, allow }) => (
          <li key={record}>
            <Visible text={title} /> (record {record}): {why}
            {allow !== undefined && (
              <>
                . To repeat it, write <code>{<Visible text={allow} />}</code> under “Tools to call”
              </>
            )}
          </li>
        ))}
      </ul>
      <ShowMore shown={shown} more={more} portion={MAX_NOT_REPEATED}>
        of {more.toLocaleString('en')}
      </ShowMore>
    </section>
  );
}

function Request({ request }: { request: ComparedRequest }): JSX.Element {
  const { title, outcome, records, args, differences, count } = request;
  const numbers = records.filter((n) => n !== undefined && n !== null);
  const list = differences.map(({ what, method, pointer, before, after }) => {
    const place = [what, method, pointer].filter((each) => each !== undefined && each !== '').join(' ');
    return { place, before, after };
  });
  return (
    <section class="card">
      <h3>
        <span class={outcome === 'changed' ? 'badge warn' : 'badge'}>{outcome}</span>{' '}
        <Visible text={title ?? 'outside of requests'} />
      </h3>
      {numbers.length > 0 && (
        <p class="soft">
          {numbers.length === 1 ? 'Record' : 'Records'} {numbers.join(' and ')}
        </p>
      )}
      {args !== undefined && (
        <>
          <h4>Arguments</h4>
          <JsonView value={args} label={`Arguments: ${title}`} />
        </>
      )}
      {list.length > 0 && <Differences list={list} label={`Differences: ${title ?? 'outside of requests'}`} />}
      {count > list.length && <p class="soft">and {count - list.length} more</p>}
    </section>
  );
}
