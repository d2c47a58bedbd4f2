import type { JSX } from 'preact';
import type { AppReports, DomainList, Violation } from '../../src/inspect/page-server/apps-api.ts';
import { Disclosure } from '../explore/disclosure.tsx';
import { Visible } from '../ui/visible.tsx';
import type { ShownApp } from './running-app.ts';

interface Row {
  readonly title: string;
  /** The member of `_meta.ui.csp`. Undefined for what cannot be declared. */
  readonly list?: DomainList;
  /** What is allowed in any case. */
  readonly always?: string;
  readonly directives: RegExp;
}

const ROWS: readonly Row[] = [
  { title: 'Connections', list: 'connectDomains', directives: /^connect-src/ },
  {
    title: 'Resources',
    list: 'resourceDomains',
    always: 'inline scripts and styles; data: images and media',
    directives: /^(?:script|style|img|media|font)-src/,
  },
  { title: 'Frames', list: 'frameDomains', directives: /^frame-src/ },
  { title: 'Base URIs', list: 'baseUriDomains', always: 'its own origin', directives: /^base-uri/ },
  { title: 'Others', directives: /(?:)/ },
];

interface PolicyTableProps {
  readonly shown: ShownApp;
  readonly reports: AppReports | undefined;
  /** URLs that the frame of the app was not allowed to go to. */
  readonly navigations: readonly string[];
}

/** What the app declares, what it may use, and what it was kept from. */
export function PolicyTable({ shown, reports, navigations }: PolicyTableProps): JSX.Element {
  const { policy, resource, origin } = shown;
  const observed: readonly Violation[] = [
    ...(reports?.violations ?? []),
    ...navigations.map((blocked) => ({ directive: 'frame-src of this page', blocked, count: 1 })),
  ];
  const rowOf = ({ directive }: Violation): Row => ROWS.find(({ directives }) => directives.test(directive))!;
  // The roles are written out, because the style gives the table another display on narrow screens.
  return (
    <>
      <table class="policy" role="table">
        <caption class="visually-hidden">Content security policy</caption>
        <thead role="rowgroup">
          <tr role="row">
            {['', 'Declared', 'Effective', 'Blocked'].map((title) => (
              <th key={title} scope="col" role="columnheader">
                {title === '' ? <span class="visually-hidden">What</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {ROWS.map((row) => (
            <tr key={row.title} role="row">
              <th scope="row" role="rowheader">
                {row.title}
                {row.list !== undefined && <code>{row.list}</code>}
              </th>
              <Declared row={row} shown={shown} />
              <Effective row={row} shown={shown} />
              <td role="cell" data-title="Blocked">
                <Blocked violations={observed.filter((each) => rowOf(each) === row)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {reports?.hasMore && <p class="notice warn">More was blocked than is shown here.</p>}
      <dl class="app-facts">
        <dt>Origin</dt>
        <dd>
          <code>{origin}</code>
        </dd>
        <dt>Permissions</dt>
        <dd>
          {resource.permissions.length === 0 ? (
            <span class="soft">none requested</span>
          ) : (
            <>
              <Visible text={resource.permissions.join(', ').slice(0, 300)} />
              <span class="soft"> requested, none granted</span>
            </>
          )}
        </dd>
      </dl>
      <Disclosure title="Policy header">
        {() => (
          <pre class="block" tabIndex={0} aria-label="Policy header">
            {policy.header.replaceAll('; ', ';\n')}
          </pre>
        )}
      </Disclosure>
    </>
  );
}

function Declared({ row: { list }, shown: { policy } }: { row: Row; shown: ShownApp }): JSX.Element {
  const domains = list === undefined ? [] : policy.domains[list];
  return (
    <td role="cell" data-title="Declared">
      {domains.length === 0 && <span class="soft">{list === undefined ? 'cannot be declared' : 'nothing'}</span>}
      <ul>
        {domains.map(({ domain }, at) => (
          <li key={at}>
            <code>
              <Visible text={domain} />
            </code>
          </li>
        ))}
      </ul>
    </td>
  );
}

function Effective({ row: { list, always }, shown: { policy } }: { row: Row; shown: ShownApp }): JSX.Element {
  const domains = list === undefined ? [] : policy.domains[list];
  const hasAllowed = domains.some(({ refused }) => refused === undefined);
  return (
    <td role="cell" data-title="Effective">
      {always !== undefined && (list !== 'baseUriDomains' || !hasAllowed) && <span>{always}</span>}
      {always === undefined && !hasAllowed && <span class="soft">nothing</span>}
      <ul>
        {domains.map(({ domain, refused }, at) => (
          <li key={at}>
            {refused === undefined ? (
              <code>
                <Visible text={domain} />
              </code>
            ) : (
              <span class="bad">
                <Visible text={domain} />: {refused}
              </span>
            )}
          </li>
        ))}
      </ul>
    </td>
  );
}

function Blocked({ violations }: { violations: readonly Violation[] }): JSX.Element {
  if (violations.length === 0) return <span class="soft">nothing</span>;
  return (
    <ul>
      {violations.map(({ directive, blocked, count }, at) => (
        <li key={at}>
          <code>
            <Visible text={blocked} />
          </code>{' '}
          <span class="soft">
            <Visible text={directive} />
            {count > 1 && `, ${count} times`}
          </span>
        </li>
      ))}
    </ul>
  );
}
