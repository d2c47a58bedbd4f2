import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import type { InspectorState } from '../../src/inspect/page-server/page-api.ts';
import type { Server } from '../server/server.ts';

/** The records of the wire. */
export function WireScreen(_props: { server: Server; state: Signal<InspectorState>; visible: boolean }): JSX.Element {
  return <p class="empty">Nothing was recorded yet.</p>;
}
