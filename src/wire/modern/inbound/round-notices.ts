import { Deferred } from '../../../base/deferred.ts';
import { idlePause } from '../../../base/wait.ts';
import type { Notification } from '../../../jsonrpc/message.ts';
import type { ReceivedCall, BusReach } from '../../../store/bus.ts';

/** The kind of the messages that carry notifications of a round. */
export const NOTICES = 'round-notices';
/** The most characters that wait to be sent. Further notifications are dropped. A single one may be longer. */
const MAX_HELD = 1024 * 1024;
/** The most notifications that wait. */
const MAX_COUNT = 1000;
/** The pauses before notifications that were not confirmed are sent again. The last one is repeated. Milliseconds. */
const PAUSES = [200, 500, 1000];

/**
 * Sends the notifications of a round to the process of its caller. Those that gather while a message is on its way go out
 * with the next one, so they stay in order. What is not confirmed is sent again while the other process waits for it.
 */
export class RoundNotices {
  readonly #reach: BusReach;
  readonly #round: string;
  readonly #call: ReceivedCall;
  readonly #onerror: (error: Error) => void;
  #held: string[] = [];
  #heldLength = 0;
  #sent = new Deferred();
  #count = 0;
  #sending: Promise<void> | undefined;
  #lossy = false;

  /** @param round the name of the round in the other process. */
  constructor(reach: BusReach, round: string, call: ReceivedCall, onerror: (error: Error) => void) {
    this.#reach = reach;
    this.#round = round;
    this.#call = call;
    this.#onerror = onerror;
  }

  /** Sends a notification as JSON. Resolves when it has arrived, or nobody waits for it. */
  send(text: string): Promise<void> {
    if (this.#held.length > 0 && (this.#held.length >= MAX_COUNT || this.#heldLength + text.length > MAX_HELD)) {
      this.#reportLoss();
    } else {
      this.#held.push(text);
      this.#heldLength += text.length;
    }
    const { promise } = this.#sent;
    this.#sending ??= this.#send();
    return promise;
  }

  /** Resolves when all have arrived, or nobody waits for them. */
  async flush(): Promise<void> {
    await this.#sending;
  }

  async #send(): Promise<void> {
    // Those of the same turn go out together.
    await Promise.resolve();
    while (this.#held.length > 0) {
      const [messages, sent] = [this.#held, this.#sent];
      this.#held = [];
      this.#heldLength = 0;
      this.#sent = new Deferred();
      await this.#insist({ round: this.#round, from: this.#reach.node, n: this.#count, messages });
      this.#count += 1;
      sent.resolve();
    }
    this.#sending = undefined;
  }

  async #insist(
    body: { readonly n: number; readonly messages: readonly string[] } & Record<string, unknown>,
  ): Promise<void> {
    const { from, signal } = this.#call;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      try {
        await this.#reach.bus.send(from, NOTICES, body);
        return;
      } catch {
        await idlePause(PAUSES[Math.min(attempt, PAUSES.length - 1)]!);
      }
    }
  }

  #reportLoss(): void {
    if (this.#lossy) return;
    this.#lossy = true;
    this.#onerror(
      new Error('Notifications of a request were dropped: the process of its caller takes them too slowly'),
    );
  }
}

/** Takes the notifications of a round that another process sends, each once. */
export class ReceivedNotices {
  readonly #take: (notification: Notification) => void;
  #next = 0;

  constructor(take: (notification: Notification) => void) {
    this.#take = take;
  }

  /** @param n the number of the message. It is sent again if its confirmation was lost. */
  receive(n: unknown, messages: readonly string[]): void {
    if (n !== this.#next) return;
    this.#next += 1;
    for (const text of messages) this.#take(JSON.parse(text) as Notification);
  }
}
