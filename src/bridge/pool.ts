import { derive, type Exchange, type Service, type Session } from '../core/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { MAY_ASK, Method } from '../protocol/methods.ts';
import { Floor } from './floor.ts';
import { checkHeaders } from './header-check.ts';
import { ReopenedUpstream, type ReopenedUpstreamOptions } from './upstream.ts';

export interface PoolOptions extends Omit<ReopenedUpstreamOptions, 'attribution'> {
  /** Connections at the most. */
  readonly max: number;
  /** Whether callers who do not know of one another share a connection, and may be asked something on it. */
  readonly mixed: boolean;
}

/** One connection, and who is on it. */
class Member {
  readonly upstream: ReopenedUpstream;
  readonly floor: Floor | undefined;
  inFlight = 0;
  lastUsed = Date.now();

  constructor({ mixed, ...options }: PoolOptions) {
    this.floor = mixed ? new Floor() : undefined;
    this.upstream = new ReopenedUpstream({ ...options, attribution: this.floor });
  }

  readonly service: Service = async (exchange) => {
    this.inFlight += 1;
    try {
      return await this.#answer(exchange);
    } finally {
      this.inFlight -= 1;
      this.lastUsed = Date.now();
    }
  };

  async #answer(exchange: Exchange): Promise<JsonObject> {
    const { upstream, floor } = this;
    if (!floor || !MAY_ASK.has(exchange.method)) return upstream.service(exchange);
    if (!upstream.connected) await upstream.connect();
    // What a server without sessions asks is the answer to the request that it is for.
    return upstream.era === 'modern' ? upstream.service(exchange) : floor.answer(upstream.service, exchange);
  }
}

interface Listener {
  readonly exchange: Exchange;
  /** Has it listen to a connection that came later. */
  readonly join: (member: Member) => void;
}

/** The connections to a server that the same callers share: another one is made where calls would have to wait. */
export class Pool {
  readonly #options: PoolOptions;
  readonly #members: Member[] = [];
  readonly #listeners = new Set<Listener>();
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
  async connect(): Promise<void> {
    await this.#first().upstream.connect();
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

  #memberFor({ method, caller: { session } }: Exchange): Member {
    if (this.#options.max === 1) return this.#first();
    const own = session && this.#sessions.get(session);
    if (own && this.#members.includes(own)) return own;
    const member = session || MAY_ASK.has(method) ? this.#freest() : this.#first();
    if (session) this.#sessions.set(session, member);
    return member;
  }

  #freest(): Member {
    const free = this.#members.find(({ inFlight, floor, upstream }) =>
      floor && upstream.era !== 'modern' ? floor.free && inFlight === 0 : true,
    );
    if (free) return free;
    if (this.#members.length < this.#options.max) return this.#add();
    const load = ({ inFlight }: Member): number => inFlight;
    return this.#members.reduce((least, each) => (load(each) < load(least) ? each : least));
  }

  #add(): Member {
    const member = new Member(this.#options);
    this.#members.push(member);
    for (const { join } of this.#listeners) join(member);
    return member;
  }

  /** Listens to all connections: a change may show on any of them. What the first says of itself counts. */
  async #listen(exchange: Exchange): Promise<JsonObject> {
    const first = this.#first();
    const quietly = derive(exchange, {
      notify: (method, params) =>
        method === 'notifications/subscriptions/acknowledged' ? Promise.resolve() : exchange.notify(method, params),
    });
    const listener: Listener = {
      exchange,
      join: ({ upstream }) => void upstream.service(quietly).catch(this.#options.onerror),
    };
    for (const member of this.#members) if (member !== first) listener.join(member);
    this.#listeners.add(listener);
    try {
      return await first.upstream.service(exchange);
    } finally {
      this.#listeners.delete(listener);
      first.lastUsed = Date.now();
    }
  }
}
