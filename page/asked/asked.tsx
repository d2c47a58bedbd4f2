import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import type { InspectorState } from '../../src/inspect/page-server/page-api.ts';
import type { Server } from '../server/server.ts';

/** What the server asked, and what it says by itself. */
export function AskedScreen(_props: { server: Server; state: Signal<InspectorState> }): JSX.Element {
  return <p class="empty">The server asked nothing.</p>;
}
