/** What a signal ends. */
export interface Ended {
  /** The signal has fired. */
  handleEvent(): void;
}

/**
 * The one listener that a signal has, whatever it ends. An application may well give one signal to all that it does, and
 * Node warns of a leak where a signal has more than ten listeners.
 */
class SharedListener implements Ended {
  readonly #all = new Set<Ended>();

  get idle(): boolean {
    return this.#all.size === 0;
  }

  add(one: Ended): void {
    this.#all.add(one);
  }

  delete(one: Ended): void {
    this.#all.delete(one);
  }

  handleEvent(): void {
    for (const one of [...this.#all]) one.handleEvent();
  }
}

const listeners = new WeakMap<AbortSignal, SharedListener>();

/** Has a signal end something, until `letGo`. */
export function endBy(signal: AbortSignal, one: Ended): void {
  let listener = listeners.get(signal);
  if (!listener) listeners.set(signal, (listener = new SharedListener()));
  if (listener.idle) signal.addEventListener('abort', listener);
  listener.add(one);
}

/** The signal ends it no more. Nothing is left at the signal when this was the last. */
export function letGo(signal: AbortSignal, one: Ended): void {
  const listener = listeners.get(signal);
  if (!listener || listener.idle) return;
  listener.delete(one);
  if (listener.idle) signal.removeEventListener('abort', listener);
}
