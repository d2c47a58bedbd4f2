import { Waiters } from '../../base/waiters.ts';
import type { Lines } from './line-stream.ts';
import type { InspectorState } from './page-api.ts';

/** The state of an inspector, and its changes. */
export class StateFeed {
  #state: InspectorState;
  readonly #readers = new Waiters();

  constructor(state: InspectorState) {
    this.#state = state;
  }

  get state(): InspectorState {
    return this.#state;
  }

  update(change: Partial<InspectorState>): void {
    this.#state = { ...this.#state, ...change };
    this.#readers.wake();
  }

  /** The state now, and after each change. A slow reader gets only the newest state. */
  async *states(signal: AbortSignal): AsyncGenerator<InspectorState, void> {
    let last: InspectorState | undefined;
    while (!signal.aborted) {
      if (this.#state === last) await this.#readers.wait({ signal });
      else yield (last = this.#state);
    }
  }
}

/** The state of an inspector that sends nothing. */
export function fixedState(role: 'observer' | 'recording', target: string): StateFeed {
  return new StateFeed({
    role,
    target,
    choices: [],
    connection: { status: 'idle', attempts: [], stderr: [] },
    running: [],
    questions: [],
    roots: [],
    subscriptions: [],
  });
}

/** A line for the state now, and for each change. */
export async function* stateLines(feed: StateFeed, signal: AbortSignal): AsyncGenerator<Lines, void> {
  for await (const state of feed.states(signal)) yield { text: `${JSON.stringify({ state })}\n`, isNewest: true };
}
