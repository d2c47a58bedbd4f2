import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';

/** How many are shown at first, and more at each wish. */
const PORTION = 100;

interface PortionsProps<Item> {
  readonly items: readonly Item[];
  readonly children: (item: Item, at: number) => ComponentChildren;
}

/** A list of somebody else, which may have many thousands of items. Only the first are elements of the page. */
export function Portions<Item>({ items, children }: PortionsProps<Item>): JSX.Element {
  const shown = useSignal(PORTION);
  const more = items.length - shown.value;
  return (
    <>
      {items.slice(0, shown.value).map(children)}
      {more > 0 && (
        <p class="toolbar">
          <button
            type="button"
            onClick={() => {
              shown.value += PORTION;
            }}
          >
            Show {Math.min(more, PORTION)} more
          </button>
          <span class="soft">of {more.toLocaleString('en')}</span>
        </p>
      )}
    </>
  );
}
