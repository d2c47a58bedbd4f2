import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { SavedCall } from '../../src/inspect/page-server/saved-api.ts';
import { toast } from '../ui/toast.tsx';
import { Visible } from '../ui/visible.tsx';
import { Calls } from './call-view.tsx';
import type { Explorer, Session } from './explorer.ts';
import { JsonView } from './json-view.tsx';
import { subjectOf } from './saved-list.ts';

interface SavedPaneProps {
  readonly explorer: Explorer;
  readonly session: Session;
}

/** The saved calls of the server, to run them again. */
export function SavedPane({ explorer, session }: SavedPaneProps): JSX.Element {
  const { calls, problem, chosen } = session.saved;
  const { file = '' } = explorer.state.value.saved ?? {};
  const list = calls.value ?? [];
  const call = list.find(({ name }) => name === chosen.value);
  return (
    <div class={call ? 'split chosen' : 'split'}>
      <div class="picker">
        <div class="toolbar saved-file">
          <code title={file}>{file}</code>
          <button type="button" onClick={() => void session.saved.load()}>
            Reload
          </button>
        </div>
        {problem.value !== undefined && (
          <p class="notice bad" role="alert">
            <Visible text={problem.value} />
          </p>
        )}
        <ul aria-label="saved calls">
          {list.map((each) => (
            <SavedItem key={each.name} call={each} session={session} isChosen={each === call} />
          ))}
        </ul>
        {calls.value !== undefined && list.length === 0 && problem.value === undefined && (
          <p class="empty">No saved calls. After a call, choose Save call beside its result.</p>
        )}
      </div>
      <div class="detail">
        {call ? (
          <SavedView key={call.name} call={call} explorer={explorer} session={session} />
        ) : (
          <p class="empty">Choose one of the saved calls.</p>
        )}
      </div>
    </div>
  );
}

function keyOf({ name }: SavedCall): string {
  return `saved ${name}`;
}

/** Shows a saved call, and sends it. */
function run(call: SavedCall, session: Session): void {
  session.saved.chosen.value = call.name;
  session.call(keyOf(call), call.method, call.params);
}

interface SavedItemProps {
  readonly call: SavedCall;
  readonly session: Session;
  readonly isChosen: boolean;
}

function SavedItem({ call, session, isChosen }: SavedItemProps): JSX.Element {
  return (
    <li class="saved-item">
      <button
        type="button"
        class="entry"
        aria-current={isChosen}
        onClick={() => {
          session.saved.chosen.value = call.name;
        }}
      >
        <span class="entry-label">{call.name}</span>
        <code>
          {call.method} <Visible text={subjectOf(call)} />
        </code>
      </button>
      <button type="button" onClick={() => run(call, session)}>
        Run<span class="visually-hidden"> {call.name}</span>
      </button>
    </li>
  );
}

function SavedView({ call, explorer, session }: SavedPaneProps & { readonly call: SavedCall }): JSX.Element {
  const { name, method, params } = call;
  const isAsked = useSignal(false);
  const ask = (asked: boolean): void => {
    isAsked.value = asked;
  };
  const remove = (): void => {
    session.saved.remove(name).catch((error: unknown) => toast((error as Error).message, 'bad'));
  };
  return (
    <>
      <button
        type="button"
        class="quiet back"
        onClick={() => {
          session.saved.chosen.value = undefined;
        }}
      >
        ← All saved calls
      </button>
      <header class="entry-head">
        <h2>{name}</h2>
        <p class="toolbar">
          <span class="badge">{method}</span>
          <code>
            <Visible text={subjectOf(call)} />
          </code>
        </p>
        <JsonView value={params} label="Parameters" />
      </header>
      <p class="toolbar">
        <button type="button" class="primary" onClick={() => run(call, session)}>
          Run
        </button>
        {isAsked.value ? (
          <>
            <button type="button" class="danger" onClick={remove}>
              Remove from the file
            </button>
            <button type="button" onClick={() => ask(false)}>
              Keep
            </button>
          </>
        ) : (
          <button type="button" onClick={() => ask(true)}>
            Remove …
          </button>
        )}
      </p>
      <Calls explorer={explorer} session={session} entry={keyOf(call)} name={subjectOf(call)} />
    </>
  );
}
