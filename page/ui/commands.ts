import { computed, signal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import { read, write } from './preferences.ts';

/** An action that the user can start by keys or from the palette. */
export interface Command {
  readonly title: string;
  /**
   * The keys: one key (`/`, `j`), two after each other (`g w`), or one with Control (`Ctrl k`, also with Command on a
   * Mac).
   */
  readonly keys?: string;
  readonly run: () => void;
}

const registered = signal<readonly (readonly Command[])[]>([]);

/** All commands that can be run now. */
export const commands = computed(() => registered.value.flat());

/** Whether keys without Control do something. Users of speech input can switch them off. */
export const singleKeys = signal(read('single-keys') !== 'off');

export function setSingleKeys(on: boolean): void {
  singleKeys.value = on;
  write('single-keys', on ? 'on' : 'off');
}

/** Offers commands as long as a component is rendered and `active`. */
export function useCommands(list: readonly Command[], active = true): void {
  // Before the next key, which an effect after drawing could miss.
  useLayoutEffect(() => {
    if (!active) return undefined;
    registered.value = [...registered.value, list];
    return () => {
      registered.value = registered.value.filter((each) => each !== list);
    };
  }, [list, active]);
}

/** How long the second of two keys may take. Milliseconds. */
const SECOND_KEY_MS = 1500;
let first: { readonly key: string; readonly at: number } | undefined;

/** Runs the command of a key. While the user types in a field, keys belong to that field. */
export function handleKey(event: KeyboardEvent): void {
  const withControl = event.ctrlKey || event.metaKey;
  if (event.defaultPrevented || event.altKey || event.isComposing) return;
  if (document.querySelector('dialog:modal')) return;
  if (!withControl && (!singleKeys.value || isField(event.target as Element))) return;
  const key = withControl ? `Ctrl ${event.key.toLowerCase()}` : event.key;
  const before = first && event.timeStamp - first.at < SECOND_KEY_MS ? first.key : undefined;
  first = undefined;
  const wanted = before === undefined ? key : `${before} ${key}`;
  const command = commands.value.find(({ keys }) => keys === wanted);
  if (command) {
    event.preventDefault();
    command.run();
  } else if (commands.value.some(({ keys }) => keys?.startsWith(`${wanted} `) && !keys.startsWith('Ctrl')))
    first = { key: wanted, at: event.timeStamp };
}

/** A field that was hidden keeps the focus until the page is painted again. */
function isField(element: Element): boolean {
  const field = element.closest('input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]');
  return field?.checkVisibility() === true;
}
