import { useSignal, type Signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';

/** How many are shown at first, and more at each wish. */
const PORTION = 100;

interface PortionsProps<Item> {
  readonly items: readonly Item[];
  /** How many items after the first `from` are shown at once. Default 100. */
  readonly portion?: (items: readonly Item[], from: number) => number;
  readonly children: (item: Item, at: number) => ComponentChildren;
}

/** A list of somebody else, which may have many thousands of items. Only the first are elements of the page. */
export function Portions<Item>({ items, portion = () => PORTION, children }: PortionsProps<Item>): JSX.Element {
  const added = useSignal(0);
  const shown = portion(items, 0) + added.value;
  const more = items.length - shown;
  return (
    <>
      {items.slice(0, shown).map(children)}
      <ShowMore shown={added} more={more} portion={portion(items, shown)}>
        of {more.toLocaleString('en')}
      </ShowMore>
    </>
  );
}

interface ShowMoreProps {
  /** How many are shown, or how many more than at first. */
  readonly shown: Signal<number>;
  /** How many are not. */
  readonly more: number;
  readonly portion: number;
  readonly children: ComponentChildren;
}

/** Shows the next portion at the user's wish. Nothing if there is none. */
export function ShowMore({ shown, more, portion, children }: ShowMoreProps): JSX.Element | null {
  if (more <= 0) return null;
  return (
    <p class="toolbar">
      <button
        type="button"
        onClick={() => {
          shown.value += portion;
        }}
      >
        Show {Math.min(more, portion)} more
      </button>
      <span class="soft">{children}</span>
    </p>
  );
}
