import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Explorer } from '../explore/explorer.ts';
import { ObserverNote } from '../explore/observer-note.tsx';
import { tabPanel, TabList } from '../ui/tabs.tsx';
import { Log } from './log.tsx';
import { openQuestions } from './open-question.ts';
import { Questions } from './questions.tsx';
import { Roots } from './roots.tsx';
import { Subscriptions } from './subscriptions.tsx';
import { Tasks } from './tasks.tsx';

const PANES = ['Questions', 'Log', 'Subscriptions', 'Tasks', 'Roots'] as const;
type Pane = (typeof PANES)[number];

const pane = signal<Pane>('Questions');

/** The server's questions and unsolicited messages. None of them blocks the rest of the page. */
export function AskedScreen({ explorer, visible }: { explorer: Explorer; visible: boolean }): JSX.Element {
  const open = openQuestions(explorer).length;
  const before = useRef(0);
  useLayoutEffect(() => {
    // If the user comes here after a new question, show the questions.
    if (open > before.current && !visible) pane.value = 'Questions';
    before.current = open;
  }, [open, visible]);
  const { role, roots } = explorer.state.value;
  if (role !== 'client') return <ObserverNote role={role} />;
  const counts: Readonly<Record<Pane, number>> = {
    Questions: open,
    Log: explorer.notices.messages.value.length,
    Subscriptions: explorer.state.value.subscriptions.length,
    Tasks: explorer.session.value?.tasks.value.length ?? 0,
    Roots: roots.length,
  };
  const selected = pane.value;
  return (
    <div class="explore">
      <div class="panes">
        <TabList
          id="asked"
          label="Questions and messages of the server"
          tabs={PANES.map((name) => ({
            name,
            extra: counts[name] > 0 && <span class="soft"> {counts[name]}</span>,
          }))}
          selected={selected}
          onselect={(name) => {
            pane.value = name;
          }}
        />
      </div>
      {PANES.map((name) => {
        const Body = BODIES[name];
        return (
          <div class="pane" key={name} {...tabPanel('asked', name, selected)}>
            {name === selected && (
              <div class="asked">
                <h2 class="visually-hidden">{name}</h2>
                <Body explorer={explorer} />
              </div>
            )}
          </div>
        );
      })}
    </div>
  );
}

const BODIES = { Questions, Log, Subscriptions, Tasks, Roots } as const;
