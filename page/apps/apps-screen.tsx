import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { EntryHead } from '../explore/entry-head.tsx';
import type { Entry } from '../explore/entry-list.ts';
import type { Explorer, Session } from '../explore/explorer.ts';
import { FormModel } from '../form/form-model.ts';
import { FormMistakes, SchemaForm } from '../form/schema-form.tsx';
import { ShowMore } from '../ui/portions.tsx';
import { beginning, Visible } from '../ui/visible.tsx';
import { appUriOf, isForModels } from './app-resource.ts';
import { AppView } from './app-view.tsx';
import { RunningApp } from './running-app.ts';

/** How many apps are shown at first, and more at each wish. */
const MAX_SHOWN = 100;
/** The most apps to choose from on a narrow screen, which has no list. */
const MAX_CHOICES = 1000;
/** The most characters of a name in the list. */
const MAX_TEXT = 200;

/** The apps of the server: tools whose results a resource `ui://…` shows. */
export function AppsScreen({ explorer }: { readonly explorer: Explorer }): JSX.Element {
  const session = explorer.session.value;
  if (explorer.state.value.role !== 'client')
    return <p class="empty">This page only shows traffic. Apps run with everwire inspect and a server.</p>;
  if (!session)
    return (
      <div class="empty">
        <p>Apps need a connection to a server.</p>
        <p class="toolbar center">
          <button type="button" onClick={() => explorer.show('Explore')}>
            Connect
          </button>
        </p>
      </div>
    );
  return <Apps key={session} explorer={explorer} session={session} />;
}

function Apps({ explorer, session }: { explorer: Explorer; session: Session }): JSX.Element {
  const list = session.lists.Tools;
  const chosen = useSignal<string | undefined>(undefined);
  const running = useSignal<RunningApp | undefined>(undefined);
  const shown = useSignal(MAX_SHOWN);
  useEffect(() => {
    if (!list.started.peek()) void list.all();
    return () => running.peek()?.end();
  }, [session]);
  const tools = list.entries.value.filter(({ raw }) => appUriOf(raw) !== undefined);
  const tool = tools.find(({ id }) => id === chosen.value) ?? tools[0];
  const choose = (id: string): void => {
    if (id === tool?.id) return;
    running.peek()?.end();
    running.value = undefined;
    chosen.value = id;
  };
  if (!tool)
    return (
      <p class="empty" role="status">
        {list.loading.value
          ? 'Loading …'
          : (list.problem.value !== undefined && <Visible text={list.problem.value} />) || (
              <>
                No tool of this server has an app. A tool with an app names a resource <code>ui://…</code> in{' '}
                <code>_meta.ui.resourceUri</code>.
              </>
            )}
      </p>
    );
  return (
    <div class="split chosen apps">
      <div class="picker">
        <p class="toolbar">
          <button type="button" disabled={list.loading.value} onClick={() => void list.reload()}>
            Reload
          </button>
          {list.hasMore.value && (
            <button type="button" disabled={list.loading.value} onClick={() => void list.all()}>
              Load all tools
            </button>
          )}
        </p>
        <ul aria-label="apps">
          {tools.slice(0, shown.value).map((each) => (
            <li key={each.id}>
              <button type="button" class="entry" aria-current={each === tool} onClick={() => choose(each.id)}>
                <span class="entry-label">
                  <Visible text={each.label} max={MAX_TEXT} />
                </span>
                <code>
                  <Visible text={appUriOf(each.raw)!} max={MAX_TEXT} />
                </code>
              </button>
            </li>
          ))}
        </ul>
        <ShowMore shown={shown} more={tools.length - shown.value} portion={MAX_SHOWN}>
          of {(tools.length - shown.value).toLocaleString('en')}
        </ShowMore>
      </div>
      <div class="detail">
        {tools.length > 1 && (
          <select
            class="apps-choice"
            aria-label="App"
            value={tool.id}
            onChange={({ currentTarget }) => choose(currentTarget.value)}
          >
            {tools.slice(0, MAX_CHOICES).map(({ id, label }) => (
              <option key={id} value={id}>
                {beginning(label, MAX_TEXT)}
              </option>
            ))}
          </select>
        )}
        <EntryHead id={tool.id} entry={tool}>
          <span class="badge">
            <Visible text={appUriOf(tool.raw)!} />
          </span>
          {!isForModels(tool.raw) && <span class="badge">hidden from models</span>}
        </EntryHead>
        <RunForm
          key={tool.id}
          session={session}
          tool={tool}
          running={running.value}
          onrun={(args) => {
            running.peek()?.end();
            running.value = new RunningApp(explorer, session, tool, args);
          }}
        />
        {running.value && <AppView key={running.value.call.key} explorer={explorer} running={running.value} />}
      </div>
    </div>
  );
}

interface RunFormProps {
  readonly session: Session;
  readonly tool: Entry;
  readonly running: RunningApp | undefined;
  /** @param args JSON text. */
  readonly onrun: (args: string) => void;
}

/** The arguments of the tool. They are the same as in Explore. */
function RunForm({ session, tool, running, onrun }: RunFormProps): JSX.Element {
  const schema: unknown = tool.raw['inputSchema'];
  const form = useMemo(
    () => session.drafts.get(`tool ${tool.id} ${JSON.stringify(schema)}`, () => new FormModel(schema)),
    [session, tool.id, schema],
  );
  const isRunning = running !== undefined && !running.isClosed.value;
  return (
    <form
      class="call"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        const json = form.submit();
        if (json !== undefined) onrun(json);
      }}
    >
      <SchemaForm form={form} label="Arguments" />
      <FormMistakes form={form} label="Run anyway" onSend={onrun} />
      <p class="toolbar">
        <button type="submit" class="primary">
          {isRunning ? 'Run again' : 'Run'}
        </button>
        {isRunning && running.call.outcome.value === undefined && (
          <button type="button" class="danger" onClick={() => running.call.cancel()}>
            Cancel the call
          </button>
        )}
        {isRunning && (
          <button type="button" onClick={() => void running.close()}>
            Close the app
          </button>
        )}
      </p>
    </form>
  );
}
