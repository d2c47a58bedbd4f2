import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { commands, setSingleKeys, singleKeys } from './commands.ts';
import { Dialog } from './dialog.tsx';
import { shownKeys } from './palette.tsx';

export const helpOpen = signal(false);

/** The keys that work on this screen. */
export function Help(): JSX.Element {
  return (
    <Dialog
      title="Keyboard shortcuts"
      class="help"
      onclose={() => {
        helpOpen.value = false;
      }}
    >
      <dl>
        {commands.value
          .filter(({ keys }) => keys !== undefined)
          .map(({ title, keys }) => (
            <>
              <dt>
                <kbd>{shownKeys(keys!)}</kbd>
              </dt>
              <dd>{title}</dd>
            </>
          ))}
      </dl>
      <label>
        <input
          type="checkbox"
          checked={singleKeys.value}
          onChange={(event) => setSingleKeys(event.currentTarget.checked)}
        />{' '}
        Use keys without Ctrl
      </label>
    </Dialog>
  );
}
