import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { InspectorState } from './page-api.ts';

/** A page draws at most once in this time, in milliseconds, so it need not get states more often. */
const FRAME_MS = 16;

/** The state of an inspector, and its changes. */
export class StateFeed {
  #state: InspectorState;
  readonly #waiting = new Set<() => void>();

  constructor(state: InspectorState) {
    this.#state = state;
  }

  get state(): InspectorState {
    return this.#state;
  }

  update(change: Partial<InspectorState>): void {
    this.#state = { ...this.#state, ...change };
    for (const wake of this.#waiting) wake();
  }

  /** The state now, and after each change. A slow reader gets only the newest state. */
  async *states(signal: AbortSignal): AsyncGenerator<InspectorState, void> {
    let last: InspectorState | undefined;
    while (!signal.aborted) {
      if (this.#state === last) await this.#change(signal);
      else yield (last = this.#state);
    }
  }

  /** Resolves at the next change. */
  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        signal.removeEventListener('abort', done);
        this.#waiting.delete(done);
        resolve();
      };
      signal.addEventListener('abort', done);
      this.#waiting.add(done);
    });
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

/** Writes a line for each state to a response, until it ends. */
export async function streamStates(response: ServerResponse, feed: StateFeed): Promise<void> {
  const closing = new AbortController();
  const { signal } = closing;
  response.once('close', () => closing.abort());
  response.on('error', () => closing.abort());
  try {
    for await (const state of feed.states(signal)) {
      if (!response.write(`${JSON.stringify(state)}\n`)) await once(response, 'drain', { signal });
      else await pause(FRAME_MS, undefined, { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  response.end();
}
