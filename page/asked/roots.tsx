import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { Root } from '../../src/inspect/page-server/page-api.ts';
import type { Explorer } from '../explore/explorer.ts';

/** The roots that the server gets when it asks for them. */
export function Roots({ explorer }: { explorer: Explorer }): JSX.Element {
  const saved = explorer.state.value.roots;
  const typed = useSignal<readonly Root[] | undefined>(undefined);
  const problem = useSignal<string | undefined>(undefined);
  const rows = typed.value ?? saved;
  const set = (at: number, part: Partial<Root>): void => {
    typed.value = rows.map((row, index) => (index === at ? { ...row, ...part } : row));
  };
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    const roots = rows.map(({ uri, name }) => (name === undefined || name === '' ? { uri } : { uri, name }));
    explorer.server.send('setRoots', { roots }).then(
      () => {
        typed.value = problem.value = undefined;
      },
      (error: unknown) => {
        problem.value = (error as Error).message;
      },
    );
  };
  return (
    <form class="call" onSubmit={onSubmit}>
      <p>
        The server gets this list when it asks for roots. In revisions up to 2025-11-25, it is notified when you save a
        change.
      </p>
      {rows.map(({ uri, name = '' }, at) => (
        <div class="header-row" key={at}>
          <input
            aria-label={`URI of root ${at + 1}`}
            placeholder="file:///home/me/project"
            spellcheck={false}
            value={uri}
            onInput={({ currentTarget }) => set(at, { uri: currentTarget.value })}
          />
          <input
            aria-label={`Name of root ${at + 1}`}
            placeholder="Name"
            value={name}
            onInput={({ currentTarget }) => set(at, { name: currentTarget.value })}
          />
          <button
            type="button"
            class="quiet"
            aria-label={`Remove root ${at + 1}`}
            onClick={() => {
              typed.value = rows.filter((_, index) => index !== at);
            }}
          >
            ×
          </button>
        </div>
      ))}
      {problem.value !== undefined && (
        <p class="notice bad" role="alert">
          {problem.value}
        </p>
      )}
      <p class="toolbar">
        <button
          type="button"
          onClick={() => {
            typed.value = [...rows, { uri: 'file:///' }];
          }}
        >
          Add root
        </button>
        <button type="submit" class="primary" disabled={typed.value === undefined}>
          Save
        </button>
        {typed.value !== undefined && (
          <button
            type="button"
            class="quiet"
            onClick={() => {
              typed.value = problem.value = undefined;
            }}
          >
            Discard
          </button>
        )}
      </p>
    </form>
  );
}
