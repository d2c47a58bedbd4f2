import { signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { InspectorState } from '../../src/inspect/page-server/page-api.ts';
import { RefusedError, type Server } from './server.ts';

/** The state of the connection between the page and its server. */
export type Link =
  /** There was no state yet. */
  | { readonly status: 'opening' }
  | { readonly status: 'open' }
  /** It does not answer. The page tries again. */
  | { readonly status: 'lost' }
  /** The server no longer accepts this page. */
  | { readonly status: 'refused'; readonly reason: string };

/** The state of the inspector, as long as it can be followed. */
export interface FollowedState {
  readonly state: Signal<InspectorState>;
  readonly link: ReadonlySignal<Link>;
}

const RETRY_MS = 2000;

const BEFORE: InspectorState = {
  role: 'observer',
  choices: [],
  connection: { status: 'idle', attempts: [], stderr: [] },
  running: [],
  questions: [],
  roots: [],
  subscriptions: [],
};

/** Follows the state, and tries again when the server cannot be reached. */
export function followState(server: Server): FollowedState {
  const state = signal(BEFORE);
  const link = signal<Link>({ status: 'opening' });
  const follow = async (): Promise<void> => {
    for (;;) {
      try {
        for await (const next of server.states()) {
          state.value = next;
          if (link.value.status !== 'open') link.value = { status: 'open' };
        }
      } catch (error) {
        if (error instanceof RefusedError) {
          link.value = { status: 'refused', reason: error.message };
          return;
        }
      }
      link.value = { status: 'lost' };
      await new Promise((resolve) => {
        setTimeout(resolve, RETRY_MS);
      });
    }
  };
  void follow();
  return { state, link };
}
