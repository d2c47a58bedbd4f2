import { ShareLine } from '../../base/share-line.ts';
import { idlePause, waitFor } from '../../base/wait.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import {
  BusListeners,
  NotTaken,
  OtherStateKey,
  ShareFull,
  type Bus,
  type BusCallOptions,
  type BusHandler,
  type BusListener,
  type NodeId,
} from '../bus.ts';
import { BusCalls, isAnswer, type MessageOptions } from '../bus-calls.ts';
import { BusMessages, type Envelope } from './bus-messages.ts';
import { JOIN, LEAVE, NODES, RETIRE } from './bus-scripts.ts';
import type { Commands } from './commands.ts';
import { ALIVE } from './heartbeat.ts';
import { Inbox } from './inbox.ts';
import { haveSameKey } from './node-id.ts';
import { Outbox } from './outbox.ts';

/** The most messages of one share that this process waits for, and the most bytes of them. */
const MAX_OF_ONE = 64;
const MAX_BYTES_OF_ONE = 2 * 1024 * 1024;
/** How long a message waits for those of its share. Milliseconds. */
const MAX_IN_LINE = 5000;
/** How long a process that leaves waits until its calls are answered. Milliseconds. */
const MAX_FINISH = 1000;
/** How often it looks meanwhile whether its inbox is empty. Milliseconds. */
const PAUSE = 5;

/** What a bus needs to know of its node, and what it may use. */
export interface RedisBusParts {
  readonly node: NodeId;
  readonly commands: Commands;
  /** Sends its commands over a connection of its own, on which Redis may wait. */
  readonly reader: Commands;
  /** Milliseconds after which a command of the reader has failed. */
  readonly timeout: number;
  readonly stateKey: string | Uint8Array;
  readonly isAlive: (node: NodeId) => Promise<boolean>;
  readonly onerror: (error: Error) => void;
}

/**
 * Messages between the processes that use one Redis. Each process has an inbox, from which it takes what it handles. The
 * sender learns by a message in its own inbox what was handled. So nothing is lost without an error if Redis or a process is.
 */
export class RedisBus implements Bus {
  readonly #parts: RedisBusParts;
  readonly #messages: BusMessages;
  readonly #listeners = new BusListeners();
  readonly #calls: BusCalls;
  readonly #outbox: Outbox;
  readonly #inbox: Inbox;
  readonly #line = new ShareLine(MAX_OF_ONE, MAX_BYTES_OF_ONE, MAX_IN_LINE);
  #hasReportedForgery = false;
  #hasReportedOtherKey = false;
  #hasJoined = false;
  #leaving: Promise<void> | undefined;
  #hasLeft = false;
  /** When Redis last knew nothing of this process, by `performance.now()`. */
  #rejoined = -Infinity;

  /** @throws RangeError if the key is too short. */
  constructor(parts: RedisBusParts) {
    this.#parts = parts;
    this.#messages = new BusMessages(parts.node, parts.stateKey);
    const checkIsSure = (isSure: boolean): void => this.#checkIsSure(isSure);
    this.#outbox = new Outbox({ ...parts, messages: this.#messages, checkIsSure });
    const send = (to: NodeId, kind: string, body: JsonObject, options?: MessageOptions): Promise<boolean> =>
      to === parts.node ? Promise.resolve(false) : this.#sendInLine(to, kind, body, options);
    this.#calls = new BusCalls(parts.node, { send, on: (...on) => this.#listeners.on(...on) }, parts.isAlive);
    this.#inbox = new Inbox({
      ...parts,
      open: (text, mac) => this.#open(text, mac),
      // A sender withdraws an answer only if it has given the call up. The answer may still come.
      isUnconditional: ({ messages }) => messages.every(({ kind }) => isAnswer(kind)),
      handle: (envelope) => this.#handle(envelope),
      onrefused: parts.onerror,
    });
  }

  /** Milliseconds until another process has confirmed the newest message that one has. */
  get delay(): number | undefined {
    return this.#outbox.delay;
  }

  /** As in `Inbox`. */
  get refusal(): string | undefined {
    return this.#inbox.refusal;
  }

  /** Tells the other processes that this one reads its messages. Must be called each second. */
  async join(): Promise<void> {
    if (this.#leaving) return;
    const wasUnknown = (await this.#parts.commands.count(JOIN, this.#parts.node)) === 1;
    if (wasUnknown && this.#hasJoined) this.#rejoined = performance.now();
    this.#hasJoined = true;
  }

  async send(to: NodeId, kind: string, body: JsonObject): Promise<boolean> {
    if (to === this.#parts.node) return false;
    return haveSameKey(to, this.#parts.node)
      ? this.#outbox.send(to, kind, JSON.stringify(body), false)
      : this.#refuse(to);
  }

  async sendToAll(kind: string, body: JsonObject): Promise<void> {
    const { node, commands } = this.#parts;
    const nodes = (await commands.run(NODES)) as NodeId[];
    this.#checkIsSure(nodes.includes(node));
    const text = JSON.stringify(body);
    const others = nodes.filter((other) => other !== node);
    const sent = others.map((other) =>
      haveSameKey(other, node) ? this.#outbox.sendToOneOfAll(other, kind, text) : this.#refuse(other),
    );
    for (const outcome of await Promise.allSettled(sent)) if (outcome.status === 'rejected') throw outcome.reason;
  }

  /** @throws NotTaken if Redis has lost its data, and some process may not have joined again. */
  #checkIsSure(isSure: boolean): void {
    if (!isSure || performance.now() - this.#rejoined < ALIVE)
      throw new NotTaken('Redis may not know all processes yet');
  }

  on(kind: string, listener: BusListener): () => void {
    return this.#listeners.on(kind, listener);
  }

  async call(to: NodeId, kind: string, body: JsonObject, options?: BusCallOptions): Promise<JsonObject> {
    // A command that fails may have been done, so the call is refused before there is one.
    if (!this.#parts.commands.reachable) throw new NotTaken('Redis cannot be reached');
    return this.#calls.call(to, kind, body, options);
  }

  answer(kind: string, handler: BusHandler): () => void {
    return this.#calls.answer(kind, handler);
  }

  /** Takes no more calls, and waits up to a second until the others know what became of those that it has. Then it reads nothing more. */
  async close(): Promise<void> {
    this.#leaving ??= this.#leave();
    return this.#leaving;
  }

  async #leave(): Promise<void> {
    // It also fails if Redis cannot be reached. Then nothing arrives.
    await waitFor(this.#finish(), { timeout: MAX_FINISH }).catch(() => {});
    this.#hasLeft = true;
    this.#inbox.close();
    this.#calls.close();
    this.#outbox.flush();
    await this.#parts.commands.run(LEAVE, this.#parts.node);
  }

  /** Resolves when the inbox is empty and its calls are answered. */
  async #finish(): Promise<void> {
    const { commands, node } = this.#parts;
    const answered = this.#calls.finish();
    while ((await commands.count(RETIRE, node)) !== 0 && !this.#hasLeft) await idlePause(PAUSE);
    await this.#inbox.handled;
    await answered;
  }

  /** Sends a message of a call when its share has room for it. Nobody waits for the confirmation: the answer comes later. */
  async #sendInLine(to: NodeId, kind: string, body: JsonObject, options: MessageOptions = {}): Promise<boolean> {
    if (!haveSameKey(to, this.#parts.node)) return this.#refuse(to);
    const text = JSON.stringify(body);
    const send = (): Promise<boolean> => this.#outbox.send(to, kind, text, true);
    const { share, signal } = options;
    if (share === undefined) return send();
    let begun = false;
    try {
      return await this.#line.within(share, Buffer.byteLength(text), signal, () => {
        begun = true;
        return send();
      });
    } catch (error) {
      if (begun) throw error;
      throw new ShareFull('Too many messages of one client wait for other processes', { cause: error });
    }
  }

  /**
   * Sends nothing to a process with another key, which would ignore it.
   *
   * @returns false if the process has ended.
   * @throws OtherStateKey if it is alive.
   */
  async #refuse(to: NodeId): Promise<boolean> {
    if (!(await this.#parts.isAlive(to))) return false;
    const error = new OtherStateKey('Another process with the same Redis has another stateKey (--state-key), or none');
    if (!this.#hasReportedOtherKey) this.#parts.onerror(error);
    this.#hasReportedOtherKey = true;
    throw error;
  }

  /** What an entry of the inbox says, without the confirmations in it. Undefined if that is nothing. */
  #open(text: string, mac: string): Envelope | undefined {
    const envelope = this.#messages.read(text, mac);
    if (envelope === 'forged') this.#reportForgery();
    if (typeof envelope === 'string') return undefined;
    for (const confirmation of envelope.confirmations) this.#outbox.confirmed(envelope.from, confirmation);
    return envelope.messages.length > 0 ? envelope : undefined;
  }

  #handle({ from, n, messages, patient }: Envelope): void {
    const taken = messages.map((message) => this.#take(message));
    this.#outbox.confirm(from, n, taken, patient && taken.every(Boolean));
  }

  /** A listener must not throw. If one does, the next messages are read all the same. */
  #take({ kind, body, size }: Envelope['messages'][number]): boolean {
    try {
      return this.#listeners.take(kind, body, size);
    } catch (error) {
      this.#parts.onerror(error as Error);
      return false;
    }
  }

  /** Once, because who can write to Redis could fill the log. */
  #reportForgery(): void {
    if (this.#hasReportedForgery) return;
    this.#hasReportedForgery = true;
    const message =
      'A message of another process was ignored: it has another stateKey, or somebody else wrote it to Redis';
    this.#parts.onerror(new Error(message));
  }
}
