import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import type { InspectorState } from '../../src/inspect/page-server/page-api.ts';
import type { Server } from '../server/server.ts';

/** The tools, resources and prompts of the server. */
export function ExploreScreen(_props: { server: Server; state: Signal<InspectorState> }): JSX.Element {
  return <p class="empty">No server is connected.</p>;
}
