import type { WireEvent } from '../record.ts';

/**
 * Events that were left out. A gap stands for them. If the opening of a connection was left out, it comes before the
 * connection's next event.
 */
export class LeftOutEvents {
  #count = 0;
  /** The `open` events that were left out, by connection, and the connections whose `close` events were left out. */
  readonly #opens = new Map<number, Extract<WireEvent, { layer: 'open' }>>();
  readonly #closes: number[] = [];

  /** Whether the next event can be sent without a gap or an `open` event before it. */
  get isEmpty(): boolean {
    return this.#count === 0 && this.#opens.size === 0;
  }

  /** Leaves out an event with bytes. */
  addBytes(): void {
    this.#count += 1;
  }

  /** Leaves out an event. */
  add(event: WireEvent): void {
    this.#count += event.layer === 'gap' ? event.count : 1;
    if (event.layer === 'open') this.#opens.set(event.conn, event);
    else if (event.layer === 'close' && !this.#opens.delete(event.conn)) this.#closes.push(event.conn);
  }

  /** The events to send in place of those that were left out: a gap, and `close` events. @param t the time. */
  take(t: number): WireEvent[] {
    if (this.#count === 0) return [];
    const gap: WireEvent = { t, layer: 'gap', count: this.#count };
    this.#count = 0;
    return [gap, ...this.#closes.splice(0).map((conn): WireEvent => ({ t, layer: 'close', conn }))];
  }

  /** The events to send for an event that is not left out: first those that must come before it. */
  before(event: WireEvent): WireEvent[] {
    const events = this.take(event.t);
    const open = event.layer === 'gap' ? undefined : this.#opens.get(event.conn);
    if (!open) return [...events, event];
    this.#opens.delete(open.conn);
    return event.layer === 'close' ? events : [...events, { ...open, t: event.t }, event];
  }
}
