import { Waiters } from '../../base/waiters.ts';
import type { Lines } from './line-stream.ts';
import type { InspectorState } from './page-api.ts';

/** The state of an inspector, and its changes. */
export class StateFeed {
  #state: InspectorState;
  readonly #readers = new Waiters();
  /** The line of the newest state that was sent. All pages share it. */
  #sent: { readonly state: InspectorState; readonly line: Uint8Array } | undefined;

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

  /** A line for the state now, and for each change. */
  async *lines(signal: AbortSignal): AsyncGenerator<Lines, void> {
    for await (const state of this.states(signal)) yield { text: this.#lineOf(state), isNewest: true };
  }

  #lineOf(state: InspectorState): Uint8Array {
    if (this.#sent?.state !== state) this.#sent = { state, line: Buffer.from(`${JSON.stringify({ state })}\n`) };
    return this.#sent.line;
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
