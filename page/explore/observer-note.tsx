import type { JSX } from 'preact';
import type { InspectorState } from '../../src/inspect/page-server/page-api.ts';

const NOTES: Readonly<Record<Exclude<InspectorState['role'], 'client'>, string>> = {
  observer:
    'This page shows the traffic of other programs. It is not a client, so it cannot call tools or answer questions.',
  recording: 'This page shows a recording. There is no server to call.',
};

/** Says why the page cannot send anything: it observes, or shows a recording. */
export function ObserverNote({ role }: { role: Exclude<InspectorState['role'], 'client'> }): JSX.Element {
  return (
    <div class="empty">
      <p>{NOTES[role]}</p>
      <p>Wire shows all traffic.</p>
    </div>
  );
}
