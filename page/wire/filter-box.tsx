import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { complete, type KnownValues } from '../../src/inspect/filter/complete.ts';
import type { FilterError } from '../../src/inspect/filter/parse.ts';
import { Visible } from '../ui/visible.tsx';
import type { WireView } from './wire-view.ts';

export const FILTER_ID = 'wire-filter';

interface FilterBoxProps {
  /** The values that occur, by the key of their term. */
  readonly names: KnownValues;
  readonly view: WireView;
  /** Called when the user has finished the filter. */
  readonly ondone: () => void;
}

/** The filter, with what can be written at the caret. */
export function FilterBox({ names, view, ondone }: FilterBoxProps): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const [caret, setCaret] = useState<number | undefined>(undefined);
  const [active, setActive] = useState(-1);
  const filter = view.filter.value;
  const completion = caret === undefined ? undefined : complete(filter, caret, names);
  const suggestions = completion?.suggestions ?? [];
  // Who is offered what to write next has not made a mistake yet.
  const mistake = suggestions.length > 0 ? undefined : view.mistake.value;
  const close = (): void => {
    setCaret(undefined);
    setActive(-1);
  };
  const accept = (at: number): void => {
    const { start, end } = completion!;
    const suggestion = suggestions[at]!;
    const text = filter.slice(0, start) + suggestion + filter.slice(end);
    const position = start + suggestion.length;
    // Set at once, because the user may continue typing before the page is drawn again.
    input.current!.value = text;
    input.current!.focus();
    input.current!.setSelectionRange(position, position);
    view.setFilter(text);
    setActive(-1);
    // A key without its value has more suggestions.
    setCaret(/[:<>=.]$/.test(suggestion) ? position : undefined);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const count = suggestions.length;
    if (event.key === 'ArrowDown' && count === 0) setCaret(input.current!.selectionStart ?? 0);
    else if (event.key === 'ArrowDown') setActive((active + 1) % count);
    else if (event.key === 'ArrowUp' && count > 0) setActive((active + count) % count || count - 1);
    else if ((event.key === 'Enter' || event.key === 'Tab') && active >= 0) accept(active);
    else if (event.key === 'Enter') {
      close();
      ondone();
    } else if (event.key === 'Escape' && count > 0) close();
    else return;
    event.preventDefault();
  };
  return (
    <div class="wire-filter">
      <input
        id={FILTER_ID}
        ref={input}
        type="search"
        aria-label="Filter"
        aria-autocomplete="list"
        aria-controls="filter-suggestions"
        aria-activedescendant={active >= 0 ? `filter-suggestion-${active}` : undefined}
        aria-invalid={mistake !== undefined}
        aria-describedby={mistake && 'filter-mistake'}
        autocomplete="off"
        spellcheck={false}
        placeholder="Filter: method:tools/call dur>500ms"
        value={filter}
        onInput={(event) => {
          view.setFilter(event.currentTarget.value);
          setCaret(event.currentTarget.selectionStart ?? undefined);
          setActive(-1);
        }}
        onKeyDown={onKeyDown}
        onBlur={close}
      />
      <div
        class="wire-suggestions"
        role="listbox"
        id="filter-suggestions"
        aria-label="Suggestions"
        hidden={suggestions.length === 0}
      >
        {suggestions.map((suggestion, at) => (
          <div
            key={suggestion}
            role="option"
            id={`filter-suggestion-${at}`}
            aria-selected={at === active}
            onMouseDown={(event) => {
              event.preventDefault();
              accept(at);
            }}
          >
            <Visible text={suggestion} />
          </div>
        ))}
      </div>
      {mistake && <Mistake filter={filter} mistake={mistake} />}
    </div>
  );
}

function Mistake({ filter, mistake: { message, start, end } }: { filter: string; mistake: FilterError }): JSX.Element {
  return (
    <p class="wire-filter-mistake" id="filter-mistake">
      {message}:{' '}
      <code>
        {filter.slice(Math.max(0, start - 30), start)}
        <mark>{filter.slice(start, end) || '␣'}</mark>
        {filter.slice(end, end + 30)}
      </code>
    </p>
  );
}
