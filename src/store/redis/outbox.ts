import { Deferred } from '../../base/deferred.ts';
import { nextTurn } from '../../base/wait.ts';
import { NotTaken, type NodeId } from '../bus.ts';
import { isAnswer } from '../bus-calls.ts';
import type { BusMessages, Confirmation, Contents, OutgoingMessage } from './bus-messages.ts';
import { ANSWER, OTHER, SEND, WITHDRAW } from './bus-scripts.ts';
import { CommandRefused, type Commands } from './commands.ts';
import { ALIVE } from './heartbeat.ts';

/** The most that waits in the inbox of one process, and the most messages that one process waits for. */
const MAX_WAITING = 1000;
/** The most bytes of them. A single message may be larger. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** The most messages that go together, and the most bytes of them. */
const MAX_JOINED = 64;
const MAX_JOINED_BYTES = 64 * 1024;
/** How long a confirmation for which nobody waits is kept for the next message to the same process. Milliseconds. */
const MAX_HELD = 10;
/** How long an inbox is kept after the last message. Milliseconds. */
const INBOX_TTL = 120_000;
/** How often the sender of an unhandled message looks whether the receiver is alive. Milliseconds. */
const LOOK = 200;
/** How often it looks before it gives up: for five seconds. */
const LOOKS = 25;

/** What the outbox needs to know of its node, and what it may use. */
export interface OutboxParts {
  readonly node: NodeId;
  readonly commands: Commands;
  readonly messages: BusMessages;
  readonly isAlive: (node: NodeId) => Promise<boolean>;
  /** Throws NotTaken if it is not sure that a process has ended. */
  readonly checkIsSure: (isSure: boolean) => void;
}

interface Message extends OutgoingMessage {
  readonly bytes: number;
  readonly handled: Deferred<boolean>;
}

/** A message, or a few that went together, whose receiver has not confirmed them. */
interface Sent {
  readonly to: NodeId;
  readonly messages: readonly Message[];
  /** Whether a process that is suspended may handle them later. */
  readonly toAll: boolean;
  readonly bytes: number;
  /** When it was sent, by `performance.now()`. */
  readonly at: number;
  /** In the inbox, as soon as it is there. */
  id?: string;
  /** How often the sender has looked, and whether it does now. */
  looks: number;
  isLooking: boolean;
  /** Whether the receiver is gone, after it had taken it. It may have handled it, and its confirmation may be on its way. */
  isGone: boolean;
}

/** A confirmation that waits for other messages. */
interface Held {
  readonly n: number;
  readonly taken: readonly boolean[];
  readonly since: number;
}

/** What goes to one process next. */
interface Next {
  messages: Message[];
  bytes: number;
  patient: boolean;
  held: Held[];
  /** Whether somebody waits for one of these. */
  urgent: boolean;
  /** Whether something went there in this turn of the event loop. */
  joining: boolean;
}

function nothing(): Omit<Next, 'joining'> {
  return { messages: [], bytes: 0, patient: true, held: [], urgent: false };
}

/** What became of an envelope, and its id if it is in the inbox. */
type Outcome = readonly ['sent' | 'kept' | 'gone' | 'full' | 'unsure', id?: string];

/**
 * Puts messages into the inboxes of other processes, and waits until they are handled. A message goes out at once. Others to the
 * same process in the same turn of the event loop go together after it: each costs less than alone.
 */
export class Outbox {
  readonly #parts: OutboxParts;
  readonly #next = new Map<NodeId, Next>();
  /** What is not confirmed yet, by number. */
  readonly #sent = new Map<number, Sent>();
  #count = 0;
  #bytes = 0;
  #timer: ReturnType<typeof setInterval> | undefined;
  #confirming = false;
  /** Milliseconds until another process has confirmed the newest message that one has. */
  delay: number | undefined;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
  }

  /**
   * Sends a message. Resolves to whether the other process has taken it.
   *
   * @param body as JSON.
   * @param patient whether the confirmation may be a little late.
   * @throws (rejects) as `Bus.send`.
   */
  async send(to: NodeId, kind: string, body: string, patient: boolean): Promise<boolean> {
    const message = this.#accept(kind, body);
    const next = this.#nextTo(to);
    if (next.bytes + message.bytes > MAX_JOINED_BYTES) this.#flush(to, next);
    next.messages.push(message);
    next.bytes += message.bytes;
    next.patient &&= patient;
    const isFull = next.bytes >= MAX_JOINED_BYTES || next.messages.length >= MAX_JOINED;
    if (!next.joining || isFull) this.#flush(to, next);
    this.#join(to, next);
    return message.handled.promise;
  }

  /** Like `send`, for one of many receivers of a message. A process that is suspended gets it later. */
  async sendToOneOfAll(to: NodeId, kind: string, body: string): Promise<boolean> {
    const message = this.#accept(kind, body);
    void this.#put(to, { messages: [message], confirmations: [], patient: false }, true);
    return message.handled.promise;
  }

  /**
   * Confirms an envelope.
   *
   * @param taken for each of its messages, whether a listener has taken it.
   * @param patient whether nobody waits for that.
   */
  confirm(to: NodeId, n: number, taken: readonly boolean[], patient: boolean): void {
    const next = this.#nextTo(to);
    next.held.push({ n, taken, since: performance.now() });
    if (patient) return this.#confirmSoon();
    next.urgent = true;
    if (!next.joining) this.#flush(to, next);
    this.#join(to, next);
  }

  /** Sends what waits for the end of a turn, or for other messages. */
  flush(): void {
    for (const [to, next] of this.#next) {
      this.#flush(to, next);
      if (!next.joining) this.#next.delete(to);
    }
  }

  /** Another process has confirmed what it got. */
  confirmed(from: NodeId, { n, taken, held }: Confirmation): void {
    const sent = this.#sent.get(n);
    if (sent?.to !== from) return;
    this.delay = performance.now() - sent.at - held;
    this.#settle(n, sent, (message, at) => message.handled.resolve(taken[at] === true));
  }

  /** @throws NotTaken if too many wait. */
  #accept(kind: string, body: string): Message {
    const bytes = Buffer.byteLength(body);
    const full = this.#bytes > 0 && this.#bytes + bytes > MAX_WAITING_BYTES;
    if (full || this.#count >= MAX_WAITING) throw new NotTaken('Too many messages to other processes wait');
    this.#count += 1;
    this.#bytes += bytes;
    return { kind, body, bytes, handled: new Deferred() };
  }

  #nextTo(to: NodeId): Next {
    let next = this.#next.get(to);
    if (!next) this.#next.set(to, (next = { ...nothing(), joining: false }));
    return next;
  }

  /** What follows in this turn of the event loop goes together at its end. */
  #join(to: NodeId, next: Next): void {
    if (next.joining) return;
    next.joining = true;
    void nextTurn().then(() => {
      next.joining = false;
      if (next.messages.length > 0 || next.urgent) this.#flush(to, next);
      if (next.held.length === 0) this.#next.delete(to);
    });
  }

  #flush(to: NodeId, next: Next): void {
    const { messages, held, patient } = next;
    if (messages.length === 0 && held.length === 0) return;
    Object.assign(next, nothing());
    const now = performance.now();
    const confirmations = held.map(({ n, taken, since }) => ({ n, taken, held: Math.round(now - since) }));
    void this.#put(to, { messages, confirmations, patient }, false);
  }

  /** One timer serves all processes. */
  #confirmSoon(): void {
    if (this.#confirming) return;
    this.#confirming = true;
    setTimeout(() => {
      this.#confirming = false;
      this.flush();
    }, MAX_HELD).unref();
  }

  /** Never rejects. */
  async #put(
    to: NodeId,
    contents: Contents & { readonly messages: readonly Message[] },
    toAll: boolean,
  ): Promise<void> {
    const { node, commands, messages: writer } = this.#parts;
    const { messages, confirmations } = contents;
    const { n, text, mac } = writer.write(to, contents);
    const bytes = Buffer.byteLength(text);
    const sent: Sent = { to, messages, toAll, bytes, at: performance.now(), looks: 0, isLooking: false, isGone: false };
    const confirmsOnly = messages.length === 0;
    if (!confirmsOnly) this.#sent.set(n, sent);
    this.#watch();
    const limits = confirmsOnly ? [0, 0] : [MAX_WAITING, MAX_WAITING_BYTES];
    const field = messages.every(({ kind }) => isAnswer(kind)) ? ANSWER : OTHER;
    const also = toAll || confirmsOnly ? 1 : '';
    try {
      const reply = await commands.run(SEND, to, text, mac, bytes, ALIVE, ...limits, INBOX_TTL, also, node, field);
      const [outcome, id] = reply as Outcome;
      if (outcome !== 'sent' && !confirmsOnly && confirmations.length > 0)
        void this.#put(to, { messages: [], confirmations, patient: true }, false);
      await this.#reached(n, sent, outcome, id);
    } catch (error) {
      // If a confirmation is lost, the sender of the message gets an error.
      const isSure = error instanceof CommandRefused && error.didNothing;
      this.#fail(n, sent, isSure ? new NotTaken(error.message, { cause: error }) : (error as Error));
    }
  }

  /** @throws NotTaken if the messages are not in the inbox. */
  async #reached(n: number, sent: Sent, outcome: Outcome[0], id: string | undefined): Promise<void> {
    const { isAlive, checkIsSure } = this.#parts;
    if (sent.messages.length === 0) return;
    if (outcome === 'gone' || outcome === 'unsure') checkIsSure(outcome === 'gone' && !(await isAlive(sent.to)));
    if (outcome === 'full') throw new NotTaken('Another process has too many messages that it has not read');
    if (outcome === 'sent' && id !== undefined) sent.id = id;
    else this.#settle(n, sent, ({ handled }) => handled.resolve(false));
  }

  #fail(n: number, sent: Sent, error: Error): void {
    this.#settle(n, sent, ({ handled }) => handled.reject(error));
  }

  /** The messages wait no longer, if they did. */
  #settle(n: number, sent: Sent, settle: (message: Message, at: number) => void): void {
    if (!this.#sent.delete(n)) return;
    for (const [at, message] of sent.messages.entries()) {
      this.#count -= 1;
      this.#bytes -= message.bytes;
      settle(message, at);
    }
  }

  #watch(): void {
    this.#timer ??= setInterval(() => {
      this.#lookAround();
      if (this.#sent.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    }, LOOK).unref();
  }

  #lookAround(): void {
    const alive = new Map<NodeId, Promise<boolean>>();
    for (const [n, sent] of this.#sent) {
      const { id, to } = sent;
      // It may have just been sent.
      if (id === undefined || (sent.looks += 1) === 1) continue;
      if (sent.isGone || sent.looks > LOOKS)
        this.#fail(n, sent, new Error('Another process has not confirmed a message in time'));
      else if (!sent.isLooking) {
        const isAlive = alive.get(to) ?? this.#parts.isAlive(to);
        alive.set(to, isAlive);
        void this.#look(n, sent, id, isAlive);
      }
    }
  }

  /** Messages to a process that has ended are withdrawn, unless it has taken them. */
  async #look(n: number, sent: Sent, id: string, isAlive: Promise<boolean>): Promise<void> {
    const { to, bytes, toAll } = sent;
    sent.isLooking = true;
    try {
      if (await isAlive) return;
      if (toAll || (await this.#parts.commands.count(WITHDRAW, to, id, bytes)) === 1)
        this.#settle(n, sent, ({ handled }) => handled.resolve(false));
      else sent.isGone = true;
    } catch (error) {
      this.#fail(n, sent, error as Error);
    } finally {
      sent.isLooking = false;
    }
  }
}
