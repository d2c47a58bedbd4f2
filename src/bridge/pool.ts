import { derive, type Exchange, type Service, type Session } from '../core/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { MAY_ASK, Method, Notice } from '../protocol/methods.ts';
import { Floor } from './floor.ts';
import { checkHeaders } from './header-check.ts';
import { ReopenedUpstream, type ReopenedUpstreamOptions } from './upstream.ts';

export interface PoolOptions extends Omit<ReopenedUpstreamOptions, 'attribution'> {
  /** Connections at the most. */
  readonly max: number;
  /**
   * Who shares a connection. One caller, or some who cannot be asked anything: `one`. Callers without sessions who are one
   * principal, one program and can do the same: `alike`. All there are: `strangers`.
   */
  readonly sharers: 'one' | 'alike' | 'strangers';
  /** Whether there is room for another connection beside those that there are. Default: up to `max` there is. */
  readonly hasRoom?: (() => boolean) | undefined;
}

/** One connection, and who is on it. */
class Member {
  readonly upstream: ReopenedUpstream;
  readonly floor: Floor | undefined;
  inFlight = 0;
  /** Those of them that may ask for something. */
  calls = 0;
  /** Sessions that keep to it. */
  sessions = 0;
  lastUsed = Date.now();
  readonly #strangers: boolean;

  constructor({ sharers, ...options }: PoolOptions) {
    this.floor = sharers === 'one' ? undefined : new Floor(sharers === 'strangers');
    this.#strangers = sharers === 'strangers';
    this.upstream = new ReopenedUpstream({ ...options, attribution: this.floor });
  }

  readonly service: Service = (exchange) => {
    if (!MAY_ASK.has(exchange.method)) return this.#use(() => this.#answer(exchange));
    this.calls += 1;
    return this.#use(() => this.#answer(exchange)).finally(() => void (this.calls -= 1));
  };

  /** @throws RpcError where the server cannot be reached. */
  async connect(): Promise<void> {
    await this.#use(() => this.upstream.connect());
  }

  async #use<T>(work: () => Promise<T>): Promise<T> {
    this.inFlight += 1;
    try {
      return await work();
    } finally {
      this.inFlight -= 1;
      this.lastUsed = Date.now();
    }
  }

  async #answer(exchange: Exchange): Promise<JsonObject> {
    const { upstream, floor } = this;
    if (!floor) return upstream.service(exchange);
    if (!upstream.connected) await upstream.connect();
    // What a server without sessions asks is the answer to the request that it is for.
    if (upstream.era === 'modern') return upstream.service(exchange);
    // A server has one set of roots for a connection: those of one caller are not for all.
    if (this.#strangers && exchange.method === Notice.RootsListChanged) return {};
    return floor.answer(upstream.service, exchange);
  }
}

/** Has somebody listen to a connection that came later. */
type Join = (member: Member) => void;

/** The connections to a server that the same callers share: another one is made where calls would have to wait. */
export class Pool {
  readonly #options: PoolOptions;
  readonly #members: Member[] = [];
  readonly #listeners = new Set<Join>();
  readonly #sessions = new WeakMap<Session, Member>();

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Connections that stand. */
  get connected(): number {
    return this.#members.filter(({ upstream }) => upstream.connected).length;
  }

  /** Whether the first connection stands. */
  get ready(): boolean {
    return this.#members[0]?.upstream.connected === true;
  }

  /** Connections, standing or not. */
  get size(): number {
    return this.#members.length;
  }

  /** Calls that wait for others to be done. */
  get waiting(): number {
    return this.#members.reduce((sum, { floor }) => sum + (floor?.waiting ?? 0), 0);
  }

  /** Which era the server is of, as far as is known. */
  get era(): 'legacy' | 'modern' | undefined {
    return this.#members[0]?.upstream.era;
  }

  get busy(): boolean {
    return this.#listeners.size > 0 || this.#members.some(({ inFlight }) => inFlight > 0);
  }

  /** When it was last needed, in milliseconds since the epoch. */
  get lastUsed(): number {
    return Math.max(0, ...this.#members.map(({ lastUsed }) => lastUsed));
  }

  /** @throws RpcError where the server cannot be reached. */
  connect(): Promise<void> {
    return this.#first().connect();
  }

  readonly service: Service = checkHeaders((exchange) =>
    exchange.method === Method.Listen ? this.#listen(exchange) : this.#memberFor(exchange).service(exchange),
  );

  /** Closes the connections that nobody has needed since then (milliseconds since the epoch). */
  async shrink(since: number): Promise<void> {
    const idle = this.#members.filter(({ inFlight, lastUsed }) => inFlight === 0 && lastUsed <= since);
    // Whoever listens does so to the first.
    const closing = this.#listeners.size > 0 ? idle.filter((member) => member !== this.#members[0]) : idle;
    for (const member of closing) this.#members.splice(this.#members.indexOf(member), 1);
    await Promise.all(closing.map(({ upstream }) => upstream.close()));
  }

  /** Closes the connections that nobody has asked anything on since then, until they are needed again. */
  async rest(since: number): Promise<void> {
    const idle = this.#members.filter(({ inFlight, lastUsed }) => inFlight === 0 && lastUsed <= since);
    await Promise.all(idle.map(({ upstream }) => upstream.rest()));
  }

  async close(): Promise<void> {
    await Promise.all(this.#members.splice(0).map(({ upstream }) => upstream.close()));
  }

  #first(): Member {
    return this.#members[0] ?? this.#add();
  }

  #memberFor(exchange: Exchange): Member {
    const { method, caller } = exchange;
    const { session } = caller;
    if (this.#options.max === 1) return this.#first();
    if (session) return this.#memberOf(session);
    return MAY_ASK.has(method) ? this.#freest(exchange) : this.#first();
  }

  /** A session keeps to the connection that had the fewest sessions when it came. */
  #memberOf(session: Session): Member {
    const own = this.#sessions.get(session);
    if (own && this.#members.includes(own)) return own;
    const least = leastOf(this.#members, ({ sessions }) => sessions);
    const member = !least || (least.sessions > 0 && this.#mayGrow) ? this.#add() : least;
    this.#sessions.set(session, member);
    member.sessions += 1;
    session.signal.addEventListener('abort', () => void (member.sessions -= 1), { once: true });
    return member;
  }

  get #mayGrow(): boolean {
    const { max, hasRoom } = this.#options;
    return this.#members.length < max && (hasRoom?.() ?? true);
  }

  #freest(exchange: Exchange): Member {
    const free = this.#members.find(({ calls, floor, upstream }) =>
      floor && upstream.era !== 'modern' ? calls === 0 && floor.isFreeFor(exchange) : true,
    );
    if (free) return free;
    if (this.#members.length === 0 || this.#mayGrow) return this.#add();
    return leastOf(this.#members, ({ inFlight }) => inFlight)!;
  }

  #add(): Member {
    const member = new Member(this.#options);
    this.#members.push(member);
    for (const join of this.#listeners) join(member);
    return member;
  }

  /** Listens to all connections: a change may show on any of them. What the first says of itself counts. */
  async #listen(exchange: Exchange): Promise<JsonObject> {
    const first = this.#first();
    const quietly = derive(exchange, {
      notify: (method, params) =>
        method === Notice.Acknowledged ? Promise.resolve() : exchange.notify(method, params),
    });
    const join: Join = (member) => {
      member.upstream.service(quietly).catch((error: Error) => {
        // One that was closed because nobody needed it has nothing more to say.
        if (this.#members.includes(member)) this.#options.onerror(error);
      });
    };
    for (const member of this.#members) if (member !== first) join(member);
    this.#listeners.add(join);
    try {
      return await first.upstream.service(exchange);
    } finally {
      this.#listeners.delete(join);
      first.lastUsed = Date.now();
    }
  }
}

function leastOf(members: readonly Member[], load: (member: Member) => number): Member | undefined {
  let least: Member | undefined;
  for (const member of members) if (!least || load(member) < load(least)) least = member;
  return least;
}
