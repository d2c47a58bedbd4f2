import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import type { InspectorState } from '../src/inspect/page-server/page-api.ts';
import type { Server } from './server/server.ts';

const SCREENS = ['Explore', 'Wire', 'Asked'] as const;
const screen = signal<(typeof SCREENS)[number]>('Explore');
const state = signal<InspectorState | undefined>(undefined);

/** The whole page: the head with what is inspected, the tabs, and the screen of the chosen tab. */
export function App({ server: _server }: { server: Server }): JSX.Element {
  return (
    <>
      <header>
        <h1>Everwire</h1>
        <p>{state.value?.target ?? 'No server'}</p>
        <div role="tablist" aria-label="Screens">
          {SCREENS.map((name) => (
            <button
              type="button"
              role="tab"
              aria-selected={screen.value === name}
              onClick={() => {
                screen.value = name;
              }}
            >
              {name}
            </button>
          ))}
        </div>
      </header>
      <main role="tabpanel">{screen.value}</main>
    </>
  );
}
