import type { Deferred } from '../base/deferred.ts';
import { Newest } from '../base/newest.ts';
import type { Exchange } from '../core/exchange.ts';
import { nameOf } from './turns.ts';

/** One request that waits for its turn, is in flight, or has ended. */
export class Call {
  /** See `Turns`. */
  readonly name: string | undefined;
  /** The key of its client. */
  key!: object | string;
  client!: Client;
  /** It runs, runs and cannot carry a question, waits for its client's answer, or was cancelled and may still ask. Undefined otherwise. */
  state: 'running' | 'uncarrying' | 'waiting' | 'abandoned' | undefined;
  /** The exchange that the server gets. Undefined for an abandoned call: its parameters may be large, and are no longer counted anywhere. */
  exchange: Exchange | undefined;
  /** The questions without an answer that it may have asked. */
  readonly questions = new Set<Question>();
  /** How many questions without an answer count as its own for its turn. */
  asked = 0;
  /** Whether it may have asked a question that was refused, or that its client got. */
  mayHaveAsked = false;
  /** When it was cancelled (`performance.now`), so that questions without an asker may be of this call. */
  cancelled: number | undefined;
  /** When it gave up its turn after a question (`performance.now`). Undefined if it has continued since. */
  yielded: number | undefined;
  /** Resolves when a call that has an answer has its turn again. */
  returns: Promise<void> | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;

  constructor(exchange: Exchange) {
    this.name = nameOf(exchange);
  }

  /** Whether it is in flight, and has given up its turn after a question. */
  get hasYielded(): boolean {
    return this.yielded !== undefined && (this.state === 'running' || this.state === 'waiting');
  }
}

/** A question without an answer, and the calls in flight that may have asked it. */
export class Question {
  readonly calls = new Set<Call>();
  /** How many of the calls each client has. */
  readonly clients = new Map<Client, number>();
  readonly since = performance.now();
  /** The exchange through which it is asked, as soon as the client is known. */
  through: Exchange | undefined;
  /** Resolves with `through`. Undefined if the question need not wait. */
  held: Deferred<Exchange> | undefined;
  #presumed: Call | undefined;

  constructor(calls: Iterable<Call>) {
    for (const call of calls) {
      this.calls.add(call);
      this.clients.set(call.client, (this.clients.get(call.client) ?? 0) + 1);
      call.questions.add(this);
    }
  }

  /** The call that has asked it. Undefined if this is unknown. */
  get asker(): Call | undefined {
    if (this.calls.size !== 1) return undefined;
    const [only] = this.calls;
    return only;
  }

  /** The call that gives up its turn for the answer: the asker, or while that is unknown, the call whose turn it was. */
  get presumed(): Call | undefined {
    return this.#presumed;
  }

  set presumed(call: Call | undefined) {
    if (this.#presumed) this.#presumed.asked -= 1;
    this.#presumed = call;
    if (call) call.asked += 1;
  }

  /** The call has not asked it. */
  remove(call: Call): void {
    call.questions.delete(this);
    this.calls.delete(call);
    const left = this.clients.get(call.client)! - 1;
    if (left > 0) this.clients.set(call.client, left);
    else this.clients.delete(call.client);
  }

  /** Nobody can know any more which call asked it. */
  forgetCalls(): void {
    for (const call of this.calls) this.remove(call);
  }

  /** It is answered, refused or withdrawn. */
  end(): void {
    this.forgetCalls();
    this.presumed = undefined;
  }
}

/** The calls of one client in flight. */
export class Client {
  readonly running = new Newest<Call>();
  /** Lists and the like of a client without a session. A question that comes meanwhile goes out with another call. */
  readonly uncarrying = new Newest<Call>();
  readonly waiting = new Newest<Call>();
  readonly abandoned = new Newest<Call>();
  /** How many questions the client has not answered. */
  open = 0;
  /** Fires when the last call has ended. Undefined before the first question. */
  over: AbortController | undefined;

  get size(): number {
    return this.running.size + this.uncarrying.size + this.waiting.size + this.abandoned.size;
  }

  /** The newest call through which the client can be asked: if possible, one that runs. */
  get newest(): Call | undefined {
    return this.running.last ?? this.waiting.last;
  }
}
