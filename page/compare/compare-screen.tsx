import type { ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { InspectorState } from '../../src/inspect/page-server/page-api.ts';
import type { Server } from '../server/server.ts';
import type { RecordStore } from '../wire/record-store.ts';
import './compare.css';
import type { CompareView } from './compare-view.ts';
import { RecordPair } from './record-pair.tsx';
import { SessionForm } from './session-form.tsx';

interface CompareScreenProps {
  readonly view: CompareView;
  readonly store: RecordStore;
  readonly server: Server;
  readonly state: ReadonlySignal<InspectorState>;
  /** Shows a record in Wire. */
  readonly onshow: (n: number) => void;
}

/** Two sessions or two records, side by side. */
export function CompareScreen({ view, store, server, state, onshow }: CompareScreenProps): JSX.Element {
  const [first, second] = [view.first.value, view.second.value];
  return (
    <div class="compare">
      <section aria-labelledby="sessions-heading">
        <h2 id="sessions-heading">Sessions</h2>
        <SessionForm server={server} state={state.value} />
      </section>
      <section aria-labelledby="records-heading">
        <h2 id="records-heading">Records</h2>
        {first && second ? (
          <RecordPair before={first} after={second} store={store} onshow={onshow} />
        ) : (
          <p class="empty">
            {first ? `Record #${first.n} is chosen. ` : ''}In Wire, select a record and press Compare (d), then select
            another one and press it again.
          </p>
        )}
      </section>
    </div>
  );
}
