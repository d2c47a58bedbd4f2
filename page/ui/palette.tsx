import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { commands, type Command } from './commands.ts';
import { useModal } from './dialog.tsx';

export const paletteOpen = signal(false);

/** A list of all commands, with a search. */
export function Palette(): JSX.Element {
  const ref = useModal();
  const [query, setQuery] = useState('');
  const [at, setAt] = useState(0);
  const words = query.toLowerCase().split(/\s+/);
  const found = commands.value.filter(({ title }) => words.every((word) => title.toLowerCase().includes(word)));
  const selected = Math.min(at, found.length - 1);
  const run = (command: Command | undefined): void => {
    if (!command) return;
    ref.current!.close();
    paletteOpen.value = false;
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') run(found[selected]);
    else if (event.key === 'ArrowDown') setAt((selected + 1) % Math.max(found.length, 1));
    else if (event.key === 'ArrowUp') setAt((selected + found.length - 1) % Math.max(found.length, 1));
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={ref}
      class="palette"
      aria-label="Commands"
      // It comes later, when there may be another palette.
      onClose={() => {
        if (ref.current) paletteOpen.value = false;
      }}
    >
      <input
        role="combobox"
        aria-label="Command"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found.length > 0 ? `palette-${selected}` : undefined}
        placeholder="Type a command"
        value={query}
        onInput={(event) => {
          setQuery(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div role="listbox" id="palette-list" aria-label="Commands">
        {found.map((command, index) => (
          <div
            key={command.title}
            role="option"
            id={`palette-${index}`}
            aria-selected={index === selected}
            onClick={() => run(command)}
          >
            {command.title}
            {command.keys !== undefined && <kbd>{shownKeys(command.keys)}</kbd>}
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="empty">No command matches.</p>}
    </dialog>
  );
}

/** Keys as people read them. */
export function shownKeys(keys: string): string {
  return keys.replace(/^Ctrl (.)$/, (_, key: string) => `Ctrl ${key.toUpperCase()}`);
}
