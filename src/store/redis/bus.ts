import { Deferred } from '../../base/deferred.ts';
import { ShareLine } from '../../base/share-line.ts';
import { nextTurn, waitFor } from '../../base/wait.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import {
  BusListeners,
  NotTaken,
  ShareFull,
  type Bus,
  type BusCallOptions,
  type BusHandler,
  type BusListener,
  type NodeId,
} from '../bus.ts';
import { BusCalls, type MessageOptions } from '../bus-calls.ts';
import { BusMessages } from './bus-messages.ts';
import { JOIN, LEAVE, NODES, SEND, TAKE, WITHDRAW } from './bus-scripts.ts';
import type { Commands } from './commands.ts';

/** The most messages that wait in the inbox of one process, and the most that one process waits for. */
const MAX_WAITING = 1000;
/** The most bytes of them. A single message may be larger. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** The most messages of one share that this process waits for, and the most bytes of them. */
const MAX_OF_ONE = 64;
const MAX_BYTES_OF_ONE = 2 * 1024 * 1024;
/** How long a message waits for those of its share. Milliseconds. */
const MAX_IN_LINE = 5000;
/** How long an inbox is kept after the last message. Milliseconds. */
const INBOX_TTL = 120_000;
/**
 * How long after a heartbeat a process counts as alive, and how long all need to say that they are, after Redis has lost
 * its data. Milliseconds.
 */
const ALIVE = 3000;
/** How often the sender of an unhandled message looks whether the receiver is alive. Milliseconds. */
const LOOK = 1000;
/** How long a message may stay unhandled. Milliseconds. */
const MAX_UNHANDLED = 5000;
/** How long one read waits for messages. Milliseconds. */
const BLOCK = 1000;
/** How many messages one read returns. */
const PORTION = 32;
/** The pause after a read that has failed. Milliseconds. */
const PAUSE = 200;
/** The kind of the message that says what became of another one. */
const HANDLED_KIND = 'handled';
/** Other work goes on after a message of this size. */
const LARGE = 64 * 1024;

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

interface Unhandled {
  readonly to: NodeId;
  readonly bytes: number;
  readonly handled: Deferred<boolean>;
  /** When it was sent, by `performance.now()`. */
  readonly sent: number;
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
  /** The messages of this process that are not handled yet, by their numbers. */
  readonly #unhandled = new Map<number, Unhandled>();
  #unhandledBytes = 0;
  readonly #line = new ShareLine(MAX_OF_ONE, MAX_BYTES_OF_ONE, MAX_IN_LINE);
  /** Milliseconds until another process has confirmed the newest message that one has. */
  delay: number | undefined;
  #hasReportedForgery = false;
  #hasJoined = false;
  /** When Redis last knew nothing of this process, by `performance.now()`. */
  #rejoined = -Infinity;
  #closed = false;

  /** @throws RangeError if the key is too short. */
  constructor(parts: RedisBusParts) {
    this.#parts = parts;
    this.#messages = new BusMessages(parts.node, parts.stateKey);
    const send = (to: NodeId, kind: string, body: JsonObject, options?: MessageOptions): Promise<boolean> =>
      to === parts.node ? Promise.resolve(false) : this.#sendInLine(to, kind, body, options);
    this.#calls = new BusCalls(parts.node, { send, on: (...on) => this.#listeners.on(...on) }, parts.isAlive);
    void this.#read();
  }

  /** Tells the other processes that this one reads its messages. Must be called each second. */
  async join(): Promise<void> {
    const wasUnknown = (await this.#parts.commands.run(JOIN, this.#parts.node)) === 1;
    if (wasUnknown && this.#hasJoined) this.#rejoined = performance.now();
    this.#hasJoined = true;
  }

  async send(to: NodeId, kind: string, body: JsonObject): Promise<boolean> {
    return to !== this.#parts.node && this.#send(to, kind, JSON.stringify(body), false);
  }

  async sendToAll(kind: string, body: JsonObject): Promise<void> {
    const { node, commands } = this.#parts;
    const nodes = (await commands.run(NODES)) as NodeId[];
    this.#checkIsSure(nodes.includes(node));
    const text = JSON.stringify(body);
    const sent = nodes.filter((other) => other !== node).map((other) => this.#send(other, kind, text, true));
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

  /** Reads nothing more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#calls.close();
    await this.#parts.commands.run(LEAVE, this.#parts.node);
  }

  /** Sends a message when its share has room for it. */
  async #sendInLine(to: NodeId, kind: string, body: JsonObject, options: MessageOptions = {}): Promise<boolean> {
    const text = JSON.stringify(body);
    const send = (): Promise<boolean> => this.#send(to, kind, text, false);
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

  /** @param body as JSON. */
  async #send(to: NodeId, kind: string, body: string, toAll: boolean): Promise<boolean> {
    const { n, text, mac } = this.#messages.write(to, kind, body);
    const bytes = Buffer.byteLength(text);
    const full = this.#unhandledBytes > 0 && this.#unhandledBytes + bytes > MAX_WAITING_BYTES;
    if (full || this.#unhandled.size >= MAX_WAITING) throw new NotTaken('Too many messages to other processes wait');
    const unhandled = { to, bytes, handled: new Deferred<boolean>(), sent: performance.now() };
    this.#unhandled.set(n, unhandled);
    this.#unhandledBytes += bytes;
    try {
      const [outcome, id] = await this.#put(to, text, mac, [MAX_WAITING, MAX_WAITING_BYTES], toAll);
      if (outcome === 'gone' || outcome === 'unsure')
        this.#checkIsSure(outcome === 'gone' && !(await this.#parts.isAlive(to)));
      if (outcome === 'full') throw new NotTaken('Another process has too many messages that it has not read');
      if (outcome !== 'sent' || id === undefined) return false;
      return await this.#whenHandled(unhandled, id, toAll);
    } finally {
      this.#unhandled.delete(n);
      this.#unhandledBytes -= bytes;
    }
  }

  #put(to: NodeId, text: string, mac: string, limits: readonly number[], toAll: boolean): Promise<Outcome> {
    const { node, commands } = this.#parts;
    const about = [to, text, mac, Buffer.byteLength(text), ALIVE, ...limits, INBOX_TTL, toAll ? 1 : '', node];
    return commands.run(SEND, ...about) as Promise<Outcome>;
  }

  /** @param toAll whether a process that is suspended may handle the message later. */
  async #whenHandled({ to, bytes, handled }: Unhandled, id: string, toAll: boolean): Promise<boolean> {
    const { commands, isAlive } = this.#parts;
    for (let waited = 0; waited < MAX_UNHANDLED; waited += LOOK) {
      const taken = await waitFor(handled.promise, { timeout: LOOK }).catch(() => undefined);
      if (taken !== undefined) return taken;
      if (await isAlive(to)) continue;
      if (toAll || (await commands.run(WITHDRAW, to, id, bytes)) === 1) return false;
      // It has taken the message, and may have handled it.
    }
    throw new Error('Another process has not confirmed a message in time');
  }

  async #read(): Promise<void> {
    const { node, commands, reader, timeout } = this.#parts;
    const block = String(Math.max(1, Math.min(BLOCK, Math.floor(timeout / 2))));
    // The inbox contains only what was not taken, so each read begins at its beginning.
    const read = ['XREAD', 'COUNT', String(PORTION), 'BLOCK', block, 'STREAMS', commands.key(`in:${node}`), '0'];
    for (let n = 1; !this.#closed; n += 1) {
      const entries = (await this.#untilAnswered(async () => entriesIn(await reader.send([...read])))) ?? [];
      if (entries.length === 0) continue;
      // This process may have been suspended after Redis had written them to the connection.
      const about = entries.flatMap(({ id, text }) => [id, Buffer.byteLength(text)]);
      const taken = await this.#untilAnswered(() => reader.run(TAKE, node, n, ...about));
      for (const { id, text, mac } of entries) {
        if (this.#closed) return;
        if (!(taken as string[]).includes(id)) continue;
        this.#receive(text, mac);
        if (text.length > LARGE) await nextTurn();
      }
    }
  }

  /** Repeats a question until Redis answers. The other commands report that it does not. Undefined if the bus is closed. */
  async #untilAnswered<T>(ask: () => Promise<T>): Promise<T | undefined> {
    while (!this.#closed) {
      try {
        return await ask();
      } catch {
        await pause();
      }
    }
    return undefined;
  }

  #receive(text: string, mac: string): void {
    const message = this.#messages.read(text, mac);
    if (message === 'repeated') return;
    if (message === 'forged') return this.#reportForgery();
    const { from, n, kind, body } = message;
    if (kind === HANDLED_KIND) {
      const unhandled = this.#unhandled.get(Number(body['n']));
      if (unhandled?.to !== from) return;
      this.delay = performance.now() - unhandled.sent;
      unhandled.handled.resolve(body['taken'] === true);
      return;
    }
    const taken = this.#listeners.take(kind, body, text.length);
    const answer = this.#messages.write(from, HANDLED_KIND, JSON.stringify({ n, taken }));
    // If it is lost, the sender gets an error. A sender that was suspended gets it when it goes on.
    this.#put(from, answer.text, answer.mac, [0, 0], true).catch(() => {});
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

function pause(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, PAUSE).unref());
}

/** What became of a message, and its id if it is in the inbox. */
type Outcome = readonly ['sent' | 'kept' | 'gone' | 'full' | 'unsure', id?: string];

interface Entry {
  readonly id: string;
  readonly text: string;
  readonly mac: string;
}

/** The entries of the only stream in a reply to XREAD. In RESP2, the reply is a list of pairs. In RESP3, it is a map. */
function entriesIn(reply: unknown): Entry[] {
  if (reply === null || reply === undefined) return [];
  const [entries] = Array.isArray(reply)
    ? reply.map((pair: unknown[]) => pair[1])
    : reply instanceof Map
      ? [...reply.values()]
      : Object.values(reply);
  return (entries as [id: string, fields: unknown[]][]).map(([id, [, text, , mac]]) => ({
    id,
    text: String(text),
    mac: String(mac),
  }));
}
