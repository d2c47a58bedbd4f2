import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useCommands, type Command } from '../ui/commands.ts';
import { ShowMore } from '../ui/portions.tsx';
import type { BreakpointView } from './breakpoint-view.ts';
import { HeldCard } from './held-card.tsx';
import { RuleForm } from './rule-form.tsx';
import { RuleList } from './rule-list.tsx';
import { SavedRules } from './saved-rules.tsx';

/** How often the times are drawn. Milliseconds. */
const TICK_MS = 200;
/** The most messages that are shown at first, and at each wish of the user. The tree of one may have hundreds of rows. */
const MAX_SHOWN = 10;

/** The rules, and what they hold. */
export function BreakpointsScreen({ view, visible }: { view: BreakpointView; visible: boolean }): JSX.Element {
  const { state } = view;
  const held = state?.held ?? [];
  const shown = useSignal(MAX_SHOWN);
  const more = held.length - shown.value;
  const now = useClock(visible && held.length > 0);
  const list = useRef<HTMLElement>(null);
  useCommands(
    useMemo(() => heldCommands(view), [view]),
    visible && state !== undefined,
  );
  const ids = held.map(({ id }) => id).join();
  const before = useRef(ids);
  useLayoutEffect(() => {
    // A card that had the focus is gone.
    if (visible && before.current !== ids && before.current !== '' && document.activeElement === document.body)
      focusFirst(list.current!);
    before.current = ids;
  }, [ids, visible]);
  if (!state)
    return (
      <div class="empty">
        <p>This page shows a recording, so there are no messages to hold.</p>
        <p>Breakpoints need the page’s own connection, “everwire bridge --inspect”, or “everwire inspect --through”.</p>
      </div>
    );
  const { waiting } = view;
  return (
    <div class="breakpoints">
      <section class="asked" aria-labelledby="rules-heading">
        <h2 id="rules-heading">Rules</h2>
        <RuleList view={view} />
        <RuleForm view={view} />
        <SavedRules view={view} />
      </section>
      <section class="asked" aria-labelledby="held-heading" ref={list}>
        <header class="toolbar">
          <h2 id="held-heading" tabIndex={-1}>
            Held messages
          </h2>
          <span role="status" class="soft">
            {waiting === 0 ? '' : waiting === 1 ? '1 message is held' : `${waiting} messages are held`}
          </span>
          {waiting > 1 && (
            <button type="button" onClick={() => view.run(view.server.send('forwardAllHeld', {}))}>
              Forward all
            </button>
          )}
        </header>
        {state.missed > 0 && (
          <p class="notice warn">
            {state.missed} messages went on before those that wait, because too many were held already.
          </p>
        )}
        <ul class="questions" aria-label="Held messages">
          {held.slice(0, shown.value).map((message) => (
            <li key={message.id}>
              <HeldCard view={view} message={message} now={now} />
            </li>
          ))}
        </ul>
        <ShowMore shown={shown} more={more} portion={MAX_SHOWN}>
          {more === 1 ? 'One newer message is not shown.' : `${more} newer messages are not shown.`}
        </ShowMore>
        {held.length === 0 && <p class="empty">No messages are held.</p>}
      </section>
    </div>
  );
}

/** The time, drawn again and again as long as it runs. */
function useClock(runs: boolean): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!runs) return undefined;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [runs]);
  return now;
}

function focusFirst(list: HTMLElement): void {
  (list.querySelector<HTMLElement>('.held .toolbar button') ?? list.querySelector<HTMLElement>('h2'))!.focus();
}

/** Presses a button of the message that has the focus, or else of the first one. */
function press(key: string): void {
  const own = document.activeElement?.closest('.held');
  const buttons = `.held [data-key="${key}"]`;
  (own?.querySelector<HTMLElement>(`[data-key="${key}"]`) ?? document.querySelector<HTMLElement>(buttons))?.click();
}

function heldCommands(view: BreakpointView): readonly Command[] {
  return [
    { title: 'Forward the held message', keys: 'c', run: () => press('c') },
    { title: 'Edit the held message', keys: 'e', run: () => press('e') },
    { title: 'Answer the held request', keys: 'a', run: () => press('a') },
    { title: 'Drop the held message', keys: 'x', run: () => press('x') },
    { title: 'Forward all held messages', run: () => view.run(view.server.send('forwardAllHeld', {})) },
    { title: 'Add a rule', keys: 'r', run: () => document.getElementById('rule-filter')?.focus() },
  ];
}
