import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { isObject } from '../../src/jsonrpc/message.ts';
import { Visible } from '../ui/visible.tsx';
import { LISTS, matching, type Entry, type ListName } from './entry-list.ts';
import type { Explorer, Session } from './explorer.ts';

/** The most entries that are shown at once. A search finds the others. */
const MAX_SHOWN = 200;
/** The most characters of each text of an entry. The entry itself shows more. */
const MAX_TEXT = 200;
/** On a screen this wide, the list has room for an entry beside it, so the first entry opens by itself. */
const WIDE = '(min-width: 48rem)';

interface EntryPickerProps {
  readonly explorer: Explorer;
  readonly session: Session;
  readonly name: ListName;
}

/** A list of the server with a search. The first entry opens by itself where there is room. */
export function EntryPicker({ explorer, session, name }: EntryPickerProps): JSX.Element {
  const list = session.lists[name];
  const [search, chosen] = [session.searches[name], session.chosen[name]];
  const isDeclared = isObject(explorer.state.value.connection.discovered?.['capabilities']?.[LISTS[name].capability]);
  const shown = useSignal(MAX_SHOWN);
  const ref = useRef<HTMLUListElement>(null);
  const entries = list.entries.value;
  const found = useMemo(() => matching(entries, search.value), [entries, search.value]);
  // Each change of the state would compare hundreds of entries.
  const drawn = useMemo(
    () =>
      found.slice(0, shown.value).map((entry, at) => (
        <EntryItem
          key={`${at} ${entry.id}`}
          entry={entry}
          isChosen={entry.id === chosen.value}
          onchoose={() => {
            chosen.value = entry.id;
          }}
        />
      )),
    [found, shown.value, chosen, chosen.value],
  );
  useEffect(() => {
    if (isDeclared && !list.started.peek()) void list.more();
  }, [list, isDeclared]);
  const first = entries[0]?.id;
  useEffect(() => {
    if (first !== undefined && chosen.peek() === undefined && matchMedia(WIDE).matches) chosen.value = first;
  }, [first]);
  if (!isDeclared && !list.started.value) {
    return (
      <div class="picker">
        <p class="empty">The server does not declare the {LISTS[name].capability} capability.</p>
        <p class="toolbar center">
          <button type="button" onClick={() => void list.more()}>
            Request anyway
          </button>
        </p>
      </div>
    );
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const items = [...ref.current!.querySelectorAll('button')];
    const at = items.indexOf(document.activeElement as HTMLButtonElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (next === undefined || (at === -1 && event.key !== 'ArrowDown')) return;
    event.preventDefault();
    items[Math.min(next, items.length - 1)]?.focus();
  };
  return (
    <div class="picker" onKeyDown={onKeyDown}>
      <div class="toolbar">
        <input
          type="search"
          aria-label={`Search ${LISTS[name].noun}`}
          placeholder="Search"
          value={search.value}
          onInput={({ currentTarget }) => {
            search.value = currentTarget.value;
            shown.value = MAX_SHOWN;
          }}
        />
        <button type="button" disabled={list.loading.value} onClick={() => void list.reload()}>
          Reload
        </button>
      </div>
      <ListChanged explorer={explorer} session={session} name={name} />
      <ul ref={ref} aria-label={LISTS[name].noun}>
        {drawn}
      </ul>
      <ListEnd session={session} name={name} found={found.length} shown={shown} />
    </div>
  );
}

/** Says that the list changed after it was read. */
function ListChanged({ explorer, session, name }: EntryPickerProps): JSX.Element {
  const list = session.lists[name];
  const changes = explorer.notices.lists.value.get(LISTS[name].changed);
  return (
    <div role="status">
      {changes && list.pages.value > 0 && changes.seen > list.readAt.value && (
        <p class="notice warn">The list has changed. Reload it to see the changes.</p>
      )}
    </div>
  );
}

interface EntryItemProps {
  readonly entry: Entry;
  readonly isChosen: boolean;
  readonly onchoose: () => void;
}

function EntryItem({ entry, isChosen, onchoose }: EntryItemProps): JSX.Element {
  const { id, label, description } = entry;
  return (
    <li>
      <button type="button" class="entry" aria-current={isChosen} onClick={onchoose}>
        <span class="entry-label">
          <Visible text={label} max={MAX_TEXT} />
        </span>
        {label !== id && (
          <code>
            <Visible text={id} max={MAX_TEXT} />
          </code>
        )}
        {description !== '' && (
          <span class="entry-description">
            <Visible text={description} max={MAX_TEXT} />
          </span>
        )}
      </button>
    </li>
  );
}

interface ListEndProps extends Pick<EntryPickerProps, 'session' | 'name'> {
  readonly found: number;
  readonly shown: { value: number };
}

/** The end of the list: says what is not shown, and loads more. */
function ListEnd({ session, name, found, shown }: ListEndProps): JSX.Element {
  const list = session.lists[name];
  const { noun } = LISTS[name];
  const { length } = list.entries.value;
  const [loading, problem, hasMore, pages] = [
    list.loading.value,
    list.problem.value,
    list.hasMore.value,
    list.pages.value,
  ];
  return (
    <div class="list-end">
      <p role="status" class="soft">
        {loading && 'Loading …'}
        {!loading && found === 0 && pages > 0 && (length > 0 ? `No ${noun} match the search.` : `No ${noun}.`)}
        {!loading && hasMore && ` ${length} loaded. The server has more.`}
      </p>
      {problem !== undefined && (
        <p class="notice bad" role="alert">
          <Visible text={problem} />
        </p>
      )}
      <div class="toolbar">
        {found > shown.value && (
          <button
            type="button"
            onClick={() => {
              shown.value += MAX_SHOWN;
            }}
          >
            Show {Math.min(found - shown.value, MAX_SHOWN)} more
          </button>
        )}
        {hasMore && (
          <>
            <button type="button" disabled={loading} onClick={() => void list.more()}>
              Load more
            </button>
            <button type="button" disabled={loading} onClick={() => void list.all()}>
              Load all
            </button>
          </>
        )}
        {problem !== undefined && pages === 0 && (
          <button type="button" onClick={() => void list.more()}>
            Try again
          </button>
        )}
      </div>
    </div>
  );
}
