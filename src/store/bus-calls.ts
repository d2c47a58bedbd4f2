import { Deferred } from '../base/deferred.ts';
import { inTurns } from '../base/in-turns.ts';
import { Recent } from '../base/recent.ts';
import { idlePause } from '../base/wait.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { isWritable } from '../jsonrpc/stringify.ts';
import {
  AnswerLost,
  NotTaken,
  ShareFull,
  type BusCallOptions,
  type BusHandler,
  type BusListener,
  type NodeId,
} from './bus.ts';
import { CallRoom, type CallLimits } from './call-room.ts';

/** The most calls of one process that wait for answers, and the most that it answers at once. */
const LIMITS: CallLimits = { calls: 20_000, bytes: 256 * 1024 * 1024 };
/** How often the two processes of a call look whether the other one is alive. Milliseconds. */
const LOOK = 250;
/** The pause before a message is sent again. Milliseconds. */
const PAUSE = 1000;
/**
 * How many looks there are for each comparison of the calls that both processes know. One of them may have taken the other for
 * ended, because that was suspended, or because Redis was unreachable.
 */
const LOOKS = 20;
/** How many comparisons follow the last call to a process. */
const LATER = 12;

/** How often a call is sent if it is not certain whether it has arrived. */
const ATTEMPTS = 3;
/** How many calls are remembered that were answered, in case they are sent again. */
const MAX_ANSWERED = 1000;

/** The kinds of the messages of calls. */
const Kind = { Call: 'call', Answer: 'call-answer', Over: 'call-over', Known: 'call-known' } as const;

/** Whether a message is the answer to a call. It comes once: a repeated one is ignored, and one of a call that has ended. */
export function isAnswer(kind: string): boolean {
  return kind === Kind.Answer;
}

const UNWRITABLE = new RpcError(ErrorCode.InternalError, 'The answer of another process cannot be written as JSON');

/** Options of a message. */
export interface MessageOptions {
  /** The message waits for others of its share. */
  readonly share?: string | undefined;
  /** Ends this wait. Then the message is not sent. */
  readonly signal?: AbortSignal | undefined;
}

/** Carries the messages of calls. */
interface Carrier {
  /** As `Bus.send`. */
  send(to: NodeId, kind: string, body: JsonObject, options?: MessageOptions): Promise<boolean>;
  on(kind: string, listener: BusListener): void;
}

interface Waiting {
  readonly to: NodeId;
  /** Whether the other process has got it. */
  taken: boolean;
  readonly settle: (answer: () => JsonObject) => void;
}

interface Answering {
  readonly from: NodeId;
  readonly n: number;
  readonly abort: AbortController;
}

/** Makes calls from the messages of a bus. Both processes of a call see when the other one has ended. */
export class BusCalls {
  readonly #node: NodeId;
  readonly #bus: Carrier;
  readonly #isAlive: (node: NodeId) => Promise<boolean>;
  readonly #handlers = new Map<string, BusHandler>();
  /** Calls of this process, by their numbers. */
  readonly #waiting = new Map<number, Waiting>();
  readonly #waitingRoom: CallRoom;
  /** Calls of others, by process and number. */
  readonly #answering = new Map<string, Answering>();
  readonly #answeringRoom: CallRoom;
  readonly #answered = new Recent(MAX_ANSWERED);
  /** Calls that have ended here, for the next message to the process that answers them. One message is on its way to it. */
  readonly #ended = new Map<NodeId, number[]>();
  /** The processes to compare calls with, and how often yet. */
  readonly #compared = new Map<NodeId, number>();
  #count = 0;
  #looks = 0;
  #look: ReturnType<typeof setInterval> | undefined;
  #looking = false;
  /** Resolves when the last call of others is answered. Then this takes no more of them. */
  #finished: Deferred | undefined;
  #closed = false;

  constructor(node: NodeId, bus: Carrier, isAlive: (node: NodeId) => Promise<boolean>, limits = LIMITS) {
    this.#node = node;
    this.#bus = bus;
    this.#waitingRoom = new CallRoom(limits);
    this.#answeringRoom = new CallRoom(limits);
    this.#isAlive = isAlive;
    bus.on(Kind.Call, (message, size) => this.#receive(message, size));
    bus.on(Kind.Answer, (message) => this.#settle(message));
    bus.on(Kind.Over, (message) => this.#end(message));
    bus.on(Kind.Known, (message) => this.#compare(message));
  }

  answer(kind: string, handler: BusHandler): () => void {
    this.#handlers.set(kind, handler);
    return () => {
      if (this.#handlers.get(kind) === handler) this.#handlers.delete(kind);
    };
  }

  async call(to: NodeId, kind: string, body: JsonObject, options: BusCallOptions = {}): Promise<JsonObject> {
    const { signal, share } = options;
    signal?.throwIfAborted();
    if (this.#closed) throw new NotTaken('This process no longer passes calls on');
    // The sender of the call has its bytes, and counts them.
    const lacking = this.#waitingRoom.lacking(0, share);
    if (lacking === 'all') throw new NotTaken('Too many calls wait for other processes');
    if (lacking === 'share') throw new ShareFull('Too many calls of one client wait for other processes');
    const n = (this.#count += 1);
    const leave = this.#waitingRoom.take(0, share);
    const answered = new Promise<JsonObject>((resolve, reject) => {
      const settle = (answer: () => JsonObject): void => {
        this.#waiting.delete(n);
        try {
          resolve(answer());
        } catch (error) {
          reject(error);
        }
      };
      this.#waiting.set(n, { to, taken: false, settle });
    });
    this.#watch();
    const giveUp = (error: unknown): void => this.#waiting.get(n)?.settle(raising(error));
    const sent = this.#send(to, { from: this.#node, n, kind, body, share }, { share, signal });
    sent.then(
      (taken) => {
        const waiting = this.#waiting.get(n);
        if (waiting) waiting.taken = taken;
        if (taken) this.#compareWith(to);
        else giveUp(new NotTaken('The other process has ended, or does not accept such calls'));
      },
      (error: Error) => {
        if (!(error instanceof NotTaken)) this.#compareWith(to);
        giveUp(error instanceof NotTaken ? error : lost(error));
      },
    );
    const onabort = (): void => giveUp(signal!.reason);
    signal?.addEventListener('abort', onabort);
    // Messages that are sent at the same time arrive in any order, so the end of a call waits for its beginning.
    const tellOver = (): void => void this.#tellOver(to, n);
    try {
      return await answered;
    } catch (error) {
      const isOver = error instanceof NotTaken || error instanceof RpcError;
      if (!isOver || error === signal?.reason) sent.then((taken) => taken && tellOver(), tellOver);
      throw error;
    } finally {
      leave();
      signal?.removeEventListener('abort', onabort);
    }
  }

  /** Takes no more calls of others. Resolves when those that it has taken are answered, and the answers have arrived. */
  finish(): Promise<void> {
    this.#finished ??= new Deferred();
    if (this.#answering.size === 0) this.#finished.resolve();
    return this.#finished.promise;
  }

  /** Ends all calls. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#look);
    for (const { settle } of [...this.#waiting.values()])
      settle(raising(new AnswerLost('This process has left the bus')));
    for (const { abort } of this.#answering.values()) abort.abort(new AnswerLost('This process has left the bus'));
  }

  /**
   * Sends a call, again if it is not certain whether it has arrived. The receiver takes it once.
   *
   * @throws (rejects) NotTaken if it has certainly not arrived. Another error if that is not certain.
   */
  async #send(to: NodeId, message: { readonly n: number } & JsonObject, options: MessageOptions): Promise<boolean> {
    let doubt: unknown;
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      try {
        const taken = await this.#bus.send(to, Kind.Call, message, options);
        if (taken || doubt === undefined) return taken;
        // The process may have ended after the first attempt.
        break;
      } catch (error) {
        doubt ??= error;
        if (doubt instanceof NotTaken || !(await this.#isAlive(to).catch(() => true))) break;
        await idlePause(PAUSE);
        // It has arrived if it was answered, and must not begin if nobody waits for it.
        if (!this.#waiting.has(message.n)) break;
      }
    }
    throw doubt;
  }

  /** Whether a handler has taken a call. */
  #receive({ from, n, kind, body, share }: JsonObject, size: number): boolean {
    const key = keyOf(from, n);
    if (this.#answering.has(key) || this.#answered.has(key)) return true;
    const handler = this.#handlers.get(kind as string);
    if (!handler || this.#finished || this.#closed || !isObject(body)) return false;
    if (this.#answeringRoom.lacking(size, share)) return false;
    const leave = this.#answeringRoom.take(size, share);
    void this.#answer(from as NodeId, Number(n), body, handler, share).finally(leave);
    return true;
  }

  async #answer(from: NodeId, n: number, body: JsonObject, handler: BusHandler, share?: string): Promise<void> {
    const key = keyOf(from, n);
    const abort = new AbortController();
    this.#answering.set(key, { from, n, abort });
    this.#watch();
    let answer: JsonObject;
    try {
      answer = { result: await handler(body, { from, signal: abort.signal, share }) };
    } catch (thrown) {
      const error = RpcError.from(thrown);
      answer = { error: { ...error.toObject(), origin: error.origin } };
    }
    const message = { from: this.#node, n, ...answer };
    const unwritable = { from: this.#node, n, error: UNWRITABLE.toObject() };
    if (!abort.signal.aborted)
      await this.#insist(from, Kind.Answer, message, { signal: abort.signal, share }, unwritable);
    this.#answering.delete(key);
    this.#answered.add(key);
    if (this.#answering.size === 0) this.#finished?.resolve();
  }

  #settle({ from, n, result, error, lost: isLost }: JsonObject): boolean {
    const waiting = this.#waiting.get(Number(n));
    if (!waiting || waiting.to !== from) return false;
    waiting.settle(() => {
      if (isLost === true)
        throw new AnswerLost('The other process gave up a call, because this process seemed to have ended');
      if (isObject(error)) throw errorIn(error);
      return result as JsonObject;
    });
    return true;
  }

  /** Thousands of calls may end at once, with their session. One message tells of all that ended while another was on its way. */
  async #tellOver(to: NodeId, n: number): Promise<void> {
    const others = this.#ended.get(to);
    if (others) return void others.push(n);
    for (let ended = [n]; ended.length > 0;) {
      const next: number[] = [];
      this.#ended.set(to, next);
      await this.#insist(to, Kind.Over, { from: this.#node, ended });
      ended = next;
    }
    this.#ended.delete(to);
  }

  #end({ from, ended }: JsonObject): boolean {
    const end = (n: number): void => this.#answering.get(keyOf(from, n))?.abort.abort(noLongerWaits());
    void inTurns(ended as number[], end);
    return true;
  }

  /**
   * Repeats a message until it is known what became of it. The receiver ignores what it has got before.
   *
   * @param otherwise what is sent if it cannot be written as JSON.
   */
  async #insist(
    to: NodeId,
    kind: string,
    body: JsonObject,
    options: MessageOptions = {},
    otherwise?: JsonObject,
  ): Promise<void> {
    let checked = otherwise === undefined;
    while (!this.#closed && options.signal?.aborted !== true) {
      try {
        await this.#bus.send(to, kind, body, options);
        return;
      } catch {
        if (!checked && !isWritable(body)) return this.#insist(to, kind, otherwise!, options);
        checked = true;
        if (!(await this.#isAlive(to).catch(() => true))) return;
        await idlePause(PAUSE);
      }
    }
  }

  /** Compares calls with a process that has got one, or may have. Clients can make up processes, which get none. */
  #compareWith(node: NodeId): void {
    if (this.#closed) return;
    this.#compared.set(node, LATER);
    this.#watch();
  }

  /** Looks whether the others are alive, as long as there are calls. */
  #watch(): void {
    this.#look ??= setInterval(() => void this.#lookAround(), LOOK).unref();
  }

  async #lookAround(): Promise<void> {
    if (this.#looking) return;
    if (this.#waiting.size + this.#answering.size + this.#compared.size === 0) {
      clearInterval(this.#look);
      this.#look = undefined;
      return;
    }
    this.#looking = true;
    const nodes = new Set([...this.#waiting.values()].map(({ to }) => to));
    for (const { from } of this.#answering.values()) nodes.add(from);
    // Nobody knows what is alive while the bus carries nothing.
    const alive = async (node: NodeId): Promise<boolean> => this.#isAlive(node).catch(() => true);
    await Promise.all([...nodes].map(async (node) => (await alive(node)) || this.#lose(node)));
    this.#looks += 1;
    if (this.#looks % LOOKS === 0) this.#tellKnown();
    this.#looking = false;
  }

  /** Tells other processes which calls wait for their answers. */
  #tellKnown(): void {
    const known = new Map<NodeId, { taken: number[]; sent: number[] }>();
    for (const node of this.#compared.keys()) known.set(node, { taken: [], sent: [] });
    for (const [n, { to, taken }] of this.#waiting) {
      if (taken) this.#compared.set(to, LATER);
      known.get(to)?.[taken ? 'taken' : 'sent'].push(n);
    }
    for (const [node, calls] of known) {
      const left = this.#compared.get(node)! - 1;
      if (left > 0) this.#compared.set(node, left);
      else this.#compared.delete(node);
      // If it is lost, the next one follows.
      this.#bus.send(node, Kind.Known, { from: this.#node, newest: this.#count, ...calls }).catch(() => {});
    }
  }

  /** Ends the calls that only one of two processes knows. */
  #compare({ from, newest, taken, sent }: JsonObject): boolean {
    const [certain, all] = [taken as number[], new Set([...(taken as number[]), ...(sent as number[])])];
    for (const { from: caller, n, abort } of this.#answering.values())
      if (caller === from && n <= Number(newest) && !all.has(n)) abort.abort(noLongerWaits());
    for (const n of certain)
      if (this.#answering.get(`${String(from)} ${n}`)?.abort.signal.aborted !== false)
        void this.#insist(from as NodeId, Kind.Answer, { from: this.#node, n, lost: true });
    return true;
  }

  #lose(node: NodeId): void {
    const gone = new AnswerLost('Another process ended before it answered');
    // What sends a call that was not taken yet finds out whether it may have arrived.
    for (const { to, taken, settle } of [...this.#waiting.values()]) if (to === node && taken) settle(raising(gone));
    for (const { from, abort } of this.#answering.values()) if (from === node) abort.abort(gone);
  }
}

function keyOf(from: unknown, n: unknown): string {
  return `${String(from)} ${String(n)}`;
}

function lost(error: Error): AnswerLost {
  return new AnswerLost(`A call to another process may have been lost: ${error.message}`, { cause: error });
}

function noLongerWaits(): AnswerLost {
  return new AnswerLost('The other process no longer waits for the answer');
}

function raising(error: unknown): () => never {
  return () => {
    throw error;
  };
}

function errorIn({ code, message, data, origin }: JsonObject): RpcError {
  const known = Number.isInteger(code) ? (code as number) : ErrorCode.InternalError;
  return new RpcError(known, String(message), { data, origin: origin === 'peer' ? 'peer' : 'local' });
}
