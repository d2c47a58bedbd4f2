import type { JsonObject } from '../jsonrpc/message.ts';

/** Identifies a process among those that use, or have used, the same state. A restarted process has a new id. */
export type NodeId = string;

/**
 * Handles a message of another process.
 *
 * @param size of the message, about in bytes.
 * @returns whether the message was for this listener. Must not throw.
 */
export type BusListener = (body: JsonObject, size: number) => boolean;

/** What a process knows of a call that it answers for another one. */
export interface ReceivedCall {
  /** The process that calls. */
  readonly from: NodeId;
  /** Fires when the other process has ended, or no longer waits for the answer. */
  readonly signal: AbortSignal;
  /** The principal or address that the call counts towards in the limits, if the other process has named it. */
  readonly share?: string | undefined;
}

/**
 * Answers a call of another process.
 *
 * @throws (rejects) RpcError, which the other process gets with its code, message, data and origin.
 */
export type BusHandler = (body: JsonObject, call: ReceivedCall) => Promise<JsonObject>;

/** Options of a call to another process. */
export interface BusCallOptions {
  /** Ends the call. Then the signal of the handler fires, too. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The principal or address that the call and its answer count towards in the limits, such as `principal ada`. At its limit,
   * further messages wait, so that others have room. Default: only the limits for all calls together apply.
   */
  readonly share?: string | undefined;
}

/** The other process has certainly not handled a message or call. */
export class NotTaken extends Error {
  override readonly name = 'NotTaken';
  /** As in the errors of transports. */
  readonly notExecuted = true;
}

/** The client that a call is for has too many of them, at this process. */
export class ShareFull extends NotTaken {}

/** The other process is alive, but has another state key, so it ignores all messages of this one. */
export class OtherStateKey extends NotTaken {}

/** A call may have been handled, but no answer will come. */
export class AnswerLost extends Error {
  override readonly name = 'AnswerLost';
  /** As in the errors of transports. */
  readonly notExecuted = false;
}

/** Whether a call got no answer. By name, because a bus may come from another copy of this package. */
export function isUnanswered(error: unknown): error is NotTaken | AnswerLost {
  return error instanceof Error && (error.name === 'NotTaken' || error.name === 'AnswerLost');
}

/**
 * Carries messages between the processes that use one state. Each message comes from one of these processes, and arrives at
 * most once. A process never gets its own messages. Messages that are sent at the same time arrive in any order.
 */
export interface Bus {
  /**
   * Passes a message to another process, and waits until that has handled it.
   *
   * @returns whether a listener there has taken it. False if the process has ended, or is this one.
   * @throws (rejects) NotTaken if the message was not passed on. Another error if it may have been.
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
  /**
   * Calls another process, and waits for its answer as long as both are alive. There is no time limit. A call that was taken
   * also waits while messages cannot be passed on.
   *
   * @throws (rejects) RpcError of the handler. NotTaken if the call certainly reached no handler. AnswerLost if it may have
   * reached one, and no answer will come. The reason of the signal if that ends the call.
   */
  call(to: NodeId, kind: string, body: JsonObject, options?: BusCallOptions): Promise<JsonObject>;
  /**
   * Answers calls of one kind. There is one handler for each kind. Returns a function that removes it; calls that it has
   * taken go on.
   */
  answer(kind: string, handler: BusHandler): () => void;
}

/** How a process reaches the others that use the same state. */
export interface BusReach {
  readonly node: NodeId;
  readonly bus: Bus;
  /** Whether a process is still there. */
  readonly isAlive: (node: NodeId) => Promise<boolean>;
}

/**
 * Undefined if no other processes use the state, or they cannot be reached.
 *
 * @throws RangeError if the name of the process would be cut in the ids that contain it.
 */
export function reachOf({ node, bus, isAlive }: { [Name in keyof BusReach]?: BusReach[Name] | undefined } = {}):
  | BusReach
  | undefined {
  if (node !== undefined && isAlive && !/^[0-9a-z]+$/.test(node))
    throw new RangeError(`The node of a state must have only the letters a to z and digits: ${JSON.stringify(node)}`);
  return node !== undefined && bus && isAlive ? { node, bus, isAlive } : undefined;
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
  take(kind: string, body: JsonObject, size: number): boolean {
    let taken = false;
    for (const listener of this.#listeners.get(kind) ?? []) taken = listener(body, size) || taken;
    return taken;
  }
}
