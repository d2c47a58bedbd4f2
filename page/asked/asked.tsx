import type { JSX } from 'preact';
import type { Explorer } from '../explore/explorer.ts';
import { ObserverNote } from '../explore/observer-note.tsx';

/** What the server asked, and what it says by itself. */
export function AskedScreen({ explorer }: { explorer: Explorer }): JSX.Element {
  const { role } = explorer.state.value;
  if (role !== 'client') return <ObserverNote role={role} />;
  return <p class="empty">The server asked nothing.</p>;
}
