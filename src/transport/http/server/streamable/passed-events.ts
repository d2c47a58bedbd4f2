import { afterMicrotasks } from '../../../../base/after-microtasks.ts';
import type { Bus, NodeId } from '../../../../store/bus.ts';
import type { EventId } from '../../../../store/event-log.ts';

/** The most messages with events for one process that are on their way. */
const MAX_SENT = 8;
/** The message of an event is not passed on if it is longer: who follows the stream reads it in the log. Characters. */
const MAX_TEXT = 16 * 1024;
/** The most text that waits for one process. Beyond it, only the newest id of each stream is passed on. Characters. */
const MAX_WAITING = 256 * 1024;
/** What an event takes besides its message, roughly. Characters. */
const EVENT_LENGTH = 128;

/** An event of a stream that another process follows: its number there, the event before, the event, and its message. */
export type PassedEvent = readonly [n: number, before: EventId, id: EventId, json?: string | undefined];

/**
 * Passes events of streams on to the processes that follow them. What comes while many messages are on their way goes out
 * together. What is too much is left out: who follows the stream reads the log, because the next event does not fit.
 */
export class PassedEvents {
  readonly #bus: Bus;
  readonly #queues = new Map<NodeId, Queue>();

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  /** @param onlost called if the process may not get the event. */
  add(to: NodeId, event: PassedEvent, onlost: () => void): void {
    let queue = this.#queues.get(to);
    if (!queue) {
      const send = async (events: readonly PassedEvent[]): Promise<void> => {
        await this.#bus.send(to, 'events', { events });
      };
      queue = new Queue(send, () => void this.#queues.delete(to));
      this.#queues.set(to, queue);
    }
    queue.add(event, onlost);
  }
}

/** What waits for one process. */
class Queue {
  readonly #send: (events: readonly PassedEvent[]) => Promise<void>;
  readonly #onempty: () => void;
  #events: PassedEvent[] = [];
  #length = 0;
  /** The newest events that are passed on without their messages, by the numbers of their streams. */
  #newest = new Map<number, EventId>();
  /** What to call if events are lost, by the numbers of their streams. */
  #onlost = new Map<number, () => void>();
  /** How many messages are on their way. */
  #sent = 0;
  #isAsked = false;

  /** @param onempty called when nothing waits, and nothing is on its way. */
  constructor(send: (events: readonly PassedEvent[]) => Promise<void>, onempty: () => void) {
    this.#send = send;
    this.#onempty = onempty;
  }

  add(event: PassedEvent, onlost: () => void): void {
    const [n, , id, json = ''] = event;
    this.#onlost.set(n, onlost);
    if (json.length > MAX_TEXT || this.#length > MAX_WAITING) this.#newest.set(n, id);
    else {
      this.#events.push(event);
      this.#length += EVENT_LENGTH + json.length;
    }
    if (this.#isAsked || this.#sent === MAX_SENT) return;
    this.#isAsked = true;
    // The log may answer for many events at once.
    afterMicrotasks(() => void this.#sendAll());
  }

  async #sendAll(): Promise<void> {
    this.#isAsked = false;
    const [events, onlost] = [this.#events, this.#onlost];
    for (const [n, id] of this.#newest) events.push([n, id, id]);
    this.#events = [];
    this.#length = 0;
    this.#newest = new Map();
    this.#onlost = new Map();
    this.#sent += 1;
    try {
      await this.#send(events);
    } catch {
      for (const lost of onlost.values()) lost();
    }
    this.#sent -= 1;
    if (this.#isAsked) return;
    if (this.#onlost.size > 0) void this.#sendAll();
    else if (this.#sent === 0) this.#onempty();
  }
}
