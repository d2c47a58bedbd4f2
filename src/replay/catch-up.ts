import { Waiters } from '../base/waiters.ts';
import { NotificationMethod } from '../protocol/methods.ts';
import type { RecordedCall } from '../mock/recorded-call.ts';

/** How long to wait for messages that the recorded server had sent by then. Milliseconds. */
export const PATIENCE = 2000;

/**
 * Waits until a server has sent what the recorded one had sent at the same point, because the client may have waited for
 * it: it lists the tools again when it hears that they have changed. Only numbers count, and not progress, which may be
 * finer or coarser. A message that does not come within two seconds is not waited for again.
 */
export class CatchUp {
  /** What the recorded server sent, oldest first. */
  readonly #recorded: readonly { readonly sent: number; readonly method: string }[];
  #next = 0;
  /** How often the recorded server had sent each message, and how often this one has. */
  readonly #wanted = new Map<string, number>();
  readonly #heard = new Map<string, number>();
  readonly #given = new Set<string>([NotificationMethod.Progress]);
  readonly #waiters = new Waiters();

  constructor(calls: readonly RecordedCall[]) {
    this.#recorded = calls
      .flatMap(({ steps }) => steps)
      .flatMap(({ sent, message }) => ('method' in message ? [{ sent, method: message.method }] : []))
      .toSorted((one, other) => one.sent - other.sent);
  }

  /** The server has sent a message. */
  hear(method: string): void {
    count(this.#heard, method);
    this.#waiters.wake();
  }

  /** @param at microseconds since the recording began. */
  async until(at: number, signal: AbortSignal): Promise<void> {
    for (; this.#next < this.#recorded.length && this.#recorded[this.#next]!.sent < at; this.#next += 1)
      count(this.#wanted, this.#recorded[this.#next]!.method);
    for (const end = performance.now() + PATIENCE; !signal.aborted;) {
      const missing = [...this.#wanted.keys()].filter((method) => this.#isMissing(method));
      const left = end - performance.now();
      if (left <= 0) for (const method of missing) this.#given.add(method);
      if (missing.length === 0 || left <= 0) return;
      await this.#waiters.wait({ signal, timeout: Math.max(1, left) }).catch(() => {});
    }
  }

  #isMissing(method: string): boolean {
    return !this.#given.has(method) && (this.#heard.get(method) ?? 0) < this.#wanted.get(method)!;
  }
}

function count(counts: Map<string, number>, method: string): void {
  counts.set(method, (counts.get(method) ?? 0) + 1);
}
