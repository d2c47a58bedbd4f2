import { signal, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { SANDBOX } from '../../src/inspector/apps/policy.ts';
import { AddressLink } from '../connect/address-link.tsx';
import type { Explorer } from '../explore/explorer.ts';
import { JsonView } from '../explore/json-view.tsx';
import { summaryOf } from '../explore/outcome-view.tsx';
import { tabPanel, TabList } from '../ui/tabs.tsx';
import { Visible, visible } from '../ui/visible.tsx';
import type { AppHost, AppStatus, LinkRequest, Note } from './app-host.ts';
import { PolicyTable } from './policy-table.tsx';
import type { RunningApp, ShownApp } from './running-app.ts';

/** The height of an app that does not say how high it is. Pixels. */
const HEIGHT = 320;
const STATUS: Readonly<Record<AppStatus, readonly [text: string, kind: string]>> = {
  loading: ['Loading', 'warn'],
  starting: ['Starting', 'warn'],
  ready: ['Running', 'good'],
  stopped: ['Stopped', 'bad'],
};
const TABS = ['Policy', 'From the app'] as const;
const tab = signal<(typeof TABS)[number]>('Policy');

interface AppViewProps {
  readonly explorer: Explorer;
  readonly running: RunningApp;
}

/** An app in its frame, what it asks for, and what it may do. */
export function AppView({ explorer, running }: AppViewProps): JSX.Element {
  const ref = useRef<HTMLElement>(null);
  const problem = running.problem.value;
  const shown = running.shown.value;
  // The arguments may take all of the screen.
  useLayoutEffect(() => ref.current?.scrollIntoView({ block: 'start' }), [shown]);
  if (problem !== undefined)
    return (
      <p class="notice bad" role="alert">
        <Visible text={problem} />
      </p>
    );
  if (!shown) return <p role="status">Reading the app …</p>;
  const { host } = shown;
  const [text, kind] = running.isClosed.value && !host.why.value ? ['Closed', 'soft'] : STATUS[host.status.value];
  const outcome = running.call.outcome.value;
  return (
    <section class="app" aria-label="App" ref={ref}>
      <div class="app-head">
        <span class={`status ${kind}`} role="status">
          {text}
        </span>
        {host.name.value !== undefined && (
          <strong>
            <Visible text={host.name.value.slice(0, 100)} />
          </strong>
        )}
        <span class="soft">Tool call: {outcome ? summaryOf(outcome) : 'running'}</span>
        <button
          type="button"
          class="quiet"
          onClick={() => {
            explorer.wire.view.setFilter('side:app');
            explorer.show('Wire');
          }}
        >
          Messages in Wire
        </button>
      </div>
      <Links host={host} />
      {host.why.value !== undefined && (
        <p class="notice bad" role="alert">
          The app was stopped. {host.why.value}
        </p>
      )}
      {host.status.value !== 'stopped' && !running.isClosed.value && <Frame running={running} shown={shown} />}
      {host.status.value === 'loading' && !running.isClosed.value && (
        <p class="soft">
          If nothing happens: the app did not load, or it sends no <code>ui/initialize</code>. The browser must find
          names below <code>localhost</code> on this machine.
        </p>
      )}
      <Tabs key={host} host={host} />
      <div class="app-panel" {...tabPanel('app', 'Policy', tab.value)}>
        <PolicyTable
          shown={shown}
          reports={explorer.state.value.apps?.find(({ id }) => id === shown.id)}
          navigations={running.navigations.value}
        />
      </div>
      <div class="app-panel" {...tabPanel('app', 'From the app', tab.value)}>
        {tab.value === 'From the app' && <FromTheApp key={host} host={host} />}
      </div>
    </section>
  );
}

/** A value that an app may change hundreds of times a second. It is drawn once a second. */
function useEachSecond<Value>(source: ReadonlySignal<Value>): Value {
  const [value, setValue] = useState(source.peek());
  useEffect(() => {
    const timer = setInterval(() => setValue(source.peek()), 1000);
    return () => clearInterval(timer);
  }, [source]);
  return value;
}

function Tabs({ host }: { host: AppHost }): JSX.Element {
  const total = totalOf(useEachSecond(host.notes));
  return (
    <TabList
      id="app"
      label="About the app"
      tabs={TABS.map((name) => ({
        name,
        extra: name === 'From the app' && total > 0 && <span class="count">{total}</span>,
      }))}
      selected={tab.value}
      onselect={(name) => {
        tab.value = name;
      }}
    />
  );
}

/** How many notes there were. */
function totalOf(notes: readonly Note[]): number {
  return notes.at(-1)?.number ?? 0;
}

/** The frame. It is on another site than this page, and its sandbox has no windows, dialogs, downloads or navigation. */
function Frame({ running, shown }: { running: RunningApp; shown: ShownApp }): JSX.Element {
  const ref = useRef<HTMLIFrameElement>(null);
  useLayoutEffect(() => running.attach(ref.current!), [running]);
  const height = shown.host.height.value ?? HEIGHT;
  return (
    <iframe
      ref={ref}
      class="app-frame"
      title={`App of ${visible(running.tool.label)}`}
      src={shown.url}
      sandbox={SANDBOX}
      referrerpolicy="no-referrer"
      style={{ height: `${height}px` }}
    />
  );
}

/** How long a link must have stayed where it is before it opens. Milliseconds. */
const STILL_MS = 500;

/** A link where a pointer was pressed. */
interface PressedLink {
  readonly link: Element;
  readonly place: string;
}

/**
 * The links that the app wants to open: the user decides, and sees the whole address. A link that has just appeared or
 * moved does not open, because the app can choose the moment, such as that of a click.
 */
function Links({ host }: { host: AppHost }): JSX.Element {
  const ref = useRef<HTMLDivElement>(null);
  const opensAt = useRef(0);
  const place = useRef('');
  const pressed = useRef<PressedLink | undefined>(undefined);
  const links = host.links.value;
  const height = host.height.value;
  const wait = (): void => {
    opensAt.current = performance.now() + STILL_MS;
  };
  useLayoutEffect(wait, [links, height]);
  useLayoutEffect(() => {
    // Something above them, such as the name of the app, may have changed.
    if (place.current !== (place.current = placeOf(ref.current!))) wait();
  });
  const onPointerDownCapture = ({ target, timeStamp }: PointerEvent): void => {
    const link = (target as Element).closest('a');
    pressed.current = link && timeStamp >= opensAt.current ? { link, place: placeOf(link) } : undefined;
  };
  const onClickCapture = (event: MouseEvent): void => {
    const link = (event.target as Element).closest('a');
    if (!link) return;
    // A key presses no pointer.
    const isSame = event.detail === 0 || (pressed.current?.link === link && pressed.current.place === placeOf(link));
    if (isSame && event.timeStamp >= opensAt.current) return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      ref={ref}
      onPointerDownCapture={onPointerDownCapture}
      onClickCapture={onClickCapture}
      onAuxClickCapture={onClickCapture}
    >
      {links.map((link) => (
        <Link key={link} link={link} />
      ))}
    </div>
  );
}

function placeOf(element: Element): string {
  const { x, y, width, height } = element.getBoundingClientRect();
  return [x, y, width, height].join();
}

function Link({ link }: { link: LinkRequest }): JSX.Element {
  return (
    <div class="notice warn app-link" role="alert">
      <p>The app wants to open a link.</p>
      <AddressLink url={link.url} onopen={() => link.answer(true)}>
        <button type="button" onClick={() => link.answer(false)}>
          Refuse
        </button>
      </AddressLink>
    </div>
  );
}

const KINDS: Readonly<Record<Note['kind'], string>> = { message: 'good', log: '', refused: 'bad' };

function FromTheApp({ host }: { host: AppHost }): JSX.Element {
  const context = useEachSecond(host.modelContext);
  const notes = useEachSecond(host.notes);
  const total = totalOf(notes);
  return (
    <>
      <h3>Context for the model</h3>
      {context ? (
        <JsonView value={context} label="Context for the model" />
      ) : (
        <p class="soft">The app has not sent any.</p>
      )}
      <h3>Messages, logs and refusals</h3>
      {total === 0 && <p class="soft">There are none.</p>}
      <ol class="app-notes">
        {notes.map((note) => (
          <NoteItem key={note.number} note={note} />
        ))}
      </ol>
      {total > notes.length && (
        <p class="soft">
          These are the newest {notes.length} of {total}. All are in Wire.
        </p>
      )}
    </>
  );
}

/** Drawn once: an app may send many notes, and each takes the browser milliseconds if its characters must be escaped. */
function NoteItem({ note }: { note: Note }): JSX.Element {
  return useMemo(
    () => (
      <li>
        <span class={`badge ${KINDS[note.kind]}`}>{note.kind}</span>{' '}
        <strong>
          <Visible text={note.title} />
        </strong>{' '}
        <Visible text={note.text} lines />
      </li>
    ),
    [note],
  );
}
