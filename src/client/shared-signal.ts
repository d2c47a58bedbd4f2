/** Something that a signal ends. */
export interface Ended {
  /** Called when the signal fires. */
  handleEvent(): void;
}

/**
 * The only listener on a signal, however many things it ends. An application may use one signal for everything, and
 * Node warns of a leak if a signal has more than ten listeners.
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

/** Lets a signal end something, until `letGo`. */
export function endBy(signal: AbortSignal, one: Ended): void {
  let listener = listeners.get(signal);
  if (!listener) listeners.set(signal, (listener = new SharedListener()));
  if (listener.idle) signal.addEventListener('abort', listener);
  listener.add(one);
}

/** Removes it. The last removal also removes the listener from the signal. */
export function letGo(signal: AbortSignal, one: Ended): void {
  const listener = listeners.get(signal);
  if (!listener || listener.idle) return;
  listener.delete(one);
  if (listener.idle) signal.removeEventListener('abort', listener);
}
