import type { JsonObject } from '../jsonrpc/message.ts';

/** Identifies a process among those that use, or have used, the same state. A restarted process has another one. */
export type NodeId = string;

/**
 * Handles a message of another process.
 *
 * @returns whether the message was for this listener. Must not throw.
 */
export type BusListener = (body: JsonObject) => boolean;

/**
 * Carries messages between the processes that use one state. What arrives was sent by one of these processes, to this one,
 * and arrives once. A process never gets its own messages. Those that are sent at the same time arrive in any order.
 */
export interface Bus {
  /**
   * Passes a message to another process, and waits until that has handled it.
   *
   * @returns whether a listener there has taken it. False if the process is gone, and will not handle it, or is this one.
   * @throws (rejects) if it is not certain what became of the message.
   */
  send(to: NodeId, kind: string, body: JsonObject): Promise<boolean>;
  /**
   * Passes a message to all other processes, and waits until those that are alive have handled it, for a few seconds at
   * most. A process that is suspended gets it later.
   *
   * @throws (rejects) if a process that is alive has not confirmed it, or a suspended one may not get it.
   */
  sendToAll(kind: string, body: JsonObject): Promise<void>;
  /** Adds a listener for messages of one kind. Returns a function that removes it. */
  on(kind: string, listener: BusListener): () => void;
}

/** The listeners of one process. */
export class BusListeners {
  readonly #listeners = new Map<string, Set<BusListener>>();

  on(kind: string, listener: BusListener): () => void {
    const listeners = this.#listeners.get(kind) ?? new Set();
    this.#listeners.set(kind, listeners);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  /** Whether any listener has taken the message. */
  take(kind: string, body: JsonObject): boolean {
    let taken = false;
    for (const listener of this.#listeners.get(kind) ?? []) taken = listener(body) || taken;
    return taken;
  }
}
