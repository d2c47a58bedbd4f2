import { useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { InspectorState } from '../../src/inspect/page-server/page-api.ts';
import type { SessionComparison } from '../../src/inspect/page-server/session-api.ts';
import type { Server } from '../server/server.ts';
import { Visible } from '../ui/visible.tsx';
import { ReportView } from './report-view.tsx';

/** The largest recording that is sent to Everwire, in bytes. JSON makes it larger. */
const MAX_FILE = 24 * 1024 * 1024;

/** Where a session comes from: a file, the records of this page, or a replay against the connected server. */
type Source = 'file' | 'wire' | 'replay';

const SOURCES: Readonly<Record<Source, string>> = {
  file: 'A recording (.mcpcap)',
  wire: 'The records of this page',
  replay: 'The connected server: send the requests again',
};

interface Side {
  readonly source: Signal<Source>;
  readonly file: Signal<File | undefined>;
}

/** Compares two sessions, or replays one. */
export function SessionForm({ server, state }: { server: Server; state: InspectorState }): JSX.Element {
  const before: Side = { source: useSignal<Source>('file'), file: useSignal<File | undefined>(undefined) };
  const after: Side = { source: useSignal<Source>('file'), file: useSignal<File | undefined>(undefined) };
  const call = useSignal('');
  const ignore = useSignal('');
  const isBusy = useSignal(false);
  const problem = useSignal<string | undefined>(undefined);
  const report = useSignal<SessionComparison | undefined>(undefined);
  const { role, connection } = state;
  if (role === 'observer')
    return (
      <p class="empty">
        This page shows the traffic of other programs. To compare sessions, record them, and start “everwire inspect”.
      </p>
    );
  const canReplay = role === 'client' && connection.status === 'connected';
  const isReplay = after.source.value === 'replay';
  const run = async (): Promise<void> => {
    isBusy.value = true;
    problem.value = report.value = undefined;
    try {
      const words = { ignore: wordsIn(ignore.value) };
      const first = await textOf(before);
      report.value = isReplay
        ? await server.send('replaySession', { before: first, call: wordsIn(call.value), ...words })
        : await server.send('compareSessions', { before: first, after: await textOf(after), ...words });
    } catch (error) {
      problem.value = (error as Error).message;
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <>
      <form
        class="compare-form"
        aria-label="Compare sessions"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <SideFields side={before} title="First session" sources={['file', 'wire']} />
        <SideFields
          side={after}
          title="Second session"
          sources={canReplay ? ['file', 'wire', 'replay'] : ['file', 'wire']}
        />
        {isReplay && (
          <WordsField
            label="Tools to call, besides those that are read-only"
            hint="Names, separated by spaces. * calls all tools of the recording."
            value={call}
          />
        )}
        <WordsField
          label="Differences to ignore"
          hint="JSON Pointers such as /structuredContent/time, and methods of notifications, separated by spaces."
          value={ignore}
        />
        <p class="toolbar">
          <button type="submit" class="primary" disabled={isBusy.value}>
            {isReplay ? 'Replay and compare' : 'Compare'}
          </button>
          {isBusy.value && isReplay && (
            <button type="button" class="danger" onClick={() => void server.send('endReplay', {})}>
              End
            </button>
          )}
          {isBusy.value && <span role="status">Comparing …</span>}
        </p>
      </form>
      {problem.value !== undefined && (
        <p class="notice bad" role="alert">
          <Visible text={problem.value} />
        </p>
      )}
      {report.value && <ReportView report={report.value} />}
    </>
  );
}

function SideFields({ side, title, sources }: { side: Side; title: string; sources: readonly Source[] }): JSX.Element {
  const { source, file } = side;
  return (
    <fieldset>
      <legend>{title}</legend>
      <label>
        From
        <select
          value={source.value}
          onChange={({ currentTarget }) => {
            source.value = currentTarget.value as Source;
          }}
        >
          {sources.map((name) => (
            <option key={name} value={name}>
              {SOURCES[name]}
            </option>
          ))}
        </select>
      </label>
      {source.value === 'file' && (
        <label>
          File
          <input
            type="file"
            accept=".mcpcap"
            required
            onChange={({ currentTarget }) => {
              file.value = currentTarget.files?.[0];
            }}
          />
        </label>
      )}
    </fieldset>
  );
}

interface WordsFieldProps {
  readonly label: string;
  readonly hint: string;
  readonly value: Signal<string>;
}

function WordsField({ label, hint, value }: WordsFieldProps): JSX.Element {
  const id = useId();
  return (
    <label>
      {label}
      <input
        value={value.value}
        spellcheck={false}
        autocomplete="off"
        aria-describedby={id}
        onInput={({ currentTarget }) => {
          value.value = currentTarget.value;
        }}
      />
      <span class="soft" id={id}>
        {hint}
      </span>
    </label>
  );
}

/** The text of a recording. Undefined for the records of this page. */
async function textOf({ source, file }: Side): Promise<string | undefined> {
  if (source.value !== 'file') return undefined;
  const chosen = file.value;
  if (!chosen) throw new Error('Choose a file.');
  if (chosen.size > MAX_FILE)
    throw new Error(`${chosen.name} is larger than ${MAX_FILE} bytes. Use “everwire compare” or “everwire replay”.`);
  return chosen.text();
}

function wordsIn(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}
