import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { ConnectScreen } from '../connect/connect.tsx';
import { useCommands, type Command } from '../ui/commands.ts';
import { tabPanel, TabList } from '../ui/tabs.tsx';
import { ObserverNote } from './observer-note.tsx';
import { EntryPicker } from './entry-picker.tsx';
import { LISTS, type ListName } from './entry-list.ts';
import { PANES, type Explorer, type Pane, type Session } from './explorer.ts';
import { PromptView } from './prompt.tsx';
import { ResourceView } from './resource.tsx';
import { SavedPane } from './saved-pane.tsx';
import { ServerInfo } from './server-info.tsx';
import { TemplateView } from './template.tsx';
import { ToolView } from './tool.tsx';

/** The tools, resources and prompts of the server. Without a connection, how to get one. */
export function ExploreScreen({ explorer, visible }: { explorer: Explorer; visible: boolean }): JSX.Element {
  const { role } = explorer.state.value;
  const session = explorer.session.value;
  if (role !== 'client') return <ObserverNote role={role} />;
  return session ? (
    <Connected explorer={explorer} session={session} visible={visible} />
  ) : (
    <ConnectScreen explorer={explorer} />
  );
}

interface ConnectedProps {
  readonly explorer: Explorer;
  readonly session: Session;
  readonly visible: boolean;
}

function Connected({ explorer, session, visible }: ConnectedProps): JSX.Element {
  const pane = session.pane.value;
  useCommands(useMemo(() => exploreCommands(explorer, session), [explorer, session]));
  useCommands(SEARCH, visible);
  const { saved } = explorer.state.value;
  const changes = saved?.changes;
  useEffect(() => {
    if (changes !== undefined) void session.saved.load();
  }, [session, changes]);
  const panes = PANES.filter((name) => name !== 'Saved' || saved);
  const tabs = panes.map((name) => ({ name, extra: <PaneCount session={session} name={name} /> }));
  return (
    <div class="explore">
      <div class="panes">
        <TabList
          id="pane"
          label="What the server has"
          tabs={tabs}
          selected={pane}
          onselect={(name) => {
            session.pane.value = name;
          }}
        />
      </div>
      {panes.map((name) => (
        <div class="pane" key={name} {...tabPanel('pane', name, pane)}>
          {name === pane && <PaneBody explorer={explorer} session={session} name={name} />}
        </div>
      ))}
    </div>
  );
}

const SEARCH: readonly Command[] = [
  {
    title: 'Search the list',
    keys: '/',
    run: () => document.querySelector<HTMLElement>('.picker input[type=search]')?.focus(),
  },
];

function exploreCommands(explorer: Explorer, session: Session): readonly Command[] {
  return PANES.filter((name) => name !== 'Saved' || explorer.state.peek().saved).map((name) => ({
    title: `Show ${name}`,
    run: () => {
      session.pane.value = name;
      explorer.show('Explore');
    },
  }));
}

function PaneCount({ session, name }: { session: Session; name: Pane }): JSX.Element | null {
  if (name === 'Server') return null;
  if (name !== 'Saved') return <ListCount session={session} name={name} />;
  const count = session.saved.calls.value?.length;
  return count === undefined ? null : <span class="soft"> {count}</span>;
}

/** How many entries were read. */
function ListCount({ session, name }: { session: Session; name: ListName }): JSX.Element | null {
  const { entries, hasMore, pages } = session.lists[name];
  if (pages.value === 0) return null;
  return (
    <span class="soft">
      {' '}
      {entries.value.length}
      {hasMore.value && '+'}
    </span>
  );
}

function PaneBody({ explorer, session, name }: { explorer: Explorer; session: Session; name: Pane }): JSX.Element {
  if (name === 'Server') return <ServerInfo explorer={explorer} />;
  if (name === 'Saved') return <SavedPane explorer={explorer} session={session} />;
  const id = session.chosen[name].value;
  const entry = session.lists[name].entries.value.find((each) => each.id === id);
  const Detail = DETAILS[name];
  return (
    <div class={id === undefined ? 'split' : 'split chosen'}>
      <EntryPicker explorer={explorer} session={session} name={name} />
      <div class="detail">
        {id !== undefined && (
          <button
            type="button"
            class="quiet back"
            onClick={() => {
              session.chosen[name].value = undefined;
            }}
          >
            ← All {name.toLowerCase()}
          </button>
        )}
        {id === undefined ? (
          <p class="empty">Choose one of the {LISTS[name].noun}.</p>
        ) : (
          <Detail key={id} explorer={explorer} session={session} id={id} entry={entry} />
        )}
      </div>
    </div>
  );
}

const DETAILS = { Tools: ToolView, Resources: ResourceView, Templates: TemplateView, Prompts: PromptView } as const;
