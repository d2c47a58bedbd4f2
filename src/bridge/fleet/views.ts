import type { Exchange, Session } from '../../core/exchange.ts';
import type { Members } from './members.ts';
import { View } from './view.ts';

/** Callers of which is kept what they were shown; of others it is asked for anew. */
const MAX_VIEWS = 1000;
/** Names and URIs that are kept for all of them. */
const MAX_IDS = 1_000_000;
/** Calls after which it is looked at how much is kept. */
const BOUND_EVERY = 100;

/** The views of those who called last. */
export class Views {
  readonly #members: Members;
  /** By session, or by principal. */
  readonly #views = new Map<Session | string | undefined, View>();
  #calls = 0;

  constructor(members: Members) {
    this.#members = members;
  }

  /** That of whoever makes a request. It is not to be held on to, for it may be given up, and another made. */
  of({ caller: { session, principal } }: Exchange): View {
    const key = session ?? principal;
    this.#calls += 1;
    let view = this.#views.get(key);
    if (!view) {
      view = new View(this.#members, principal);
      if (session?.signal.aborted) return view;
      this.#views.set(key, view);
      session?.signal.addEventListener('abort', this.#forgetEnded);
      this.#bound(view);
    } else if (this.#calls % BOUND_EVERY === 0) this.#bound(view);
    view.lastUse = this.#calls;
    return view;
  }

  /** The servers are others now. */
  update(): void {
    for (const view of this.#views.values()) view.update();
  }

  /** Gives up all of them. */
  clear(): void {
    for (const key of this.#views.keys()) this.#drop(key);
  }

  /** Gives up those that were not used for the longest time, where there are too many or they keep too much. */
  #bound(newest: View): void {
    let weight = 0;
    for (const view of this.#views.values()) weight += view.weight;
    if (this.#views.size <= MAX_VIEWS && weight <= MAX_IDS) return;
    for (const [key, view] of [...this.#views].toSorted(([, one], [, other]) => one.lastUse - other.lastUse)) {
      // With some to spare, so that it is not for each call that comes.
      if (this.#views.size <= MAX_VIEWS * 0.9 && weight <= MAX_IDS * 0.9) return;
      if (view === newest) continue;
      weight -= view.weight;
      this.#drop(key);
    }
  }

  #drop(key: Session | string | undefined): void {
    this.#views.delete(key);
    if (typeof key === 'object') key.signal.removeEventListener('abort', this.#forgetEnded);
  }

  /** One for all sessions: a signal takes the same listener once. */
  readonly #forgetEnded = (): void => {
    for (const key of this.#views.keys()) if (typeof key === 'object' && key.signal.aborted) this.#drop(key);
  };
}
