import { createHash } from 'node:crypto';
import { Oldest } from '../../base/oldest.ts';
import { repeatedly } from '../../base/repeatedly.ts';
import { pause } from '../../base/wait.ts';
import { acknowledgedOnce } from '../../client/acknowledged-once.ts';
import { Resubscription } from '../../client/resubscription.ts';
import { abortReason, isAborted } from '../../core/base-exchange.ts';
import { derive } from '../../core/derive.ts';
import type { Caller, Exchange, Service, Session } from '../../core/exchange.ts';
import { Unavailable } from '../../core/unavailable.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { CONNECTION_CLOSED } from '../../jsonrpc/pending.ts';
import { Method, NotificationMethod } from '../../protocol/methods.ts';
import { AnswerLost, NotTaken, type BusReach, type ReceivedCall, type NodeId } from '../../store/bus.ts';
import type { Claims } from '../../store/claims.ts';
import type { SessionKeeper } from '../../transport/http/client/kept-session.ts';
import { checkHeaders } from '../header-check.ts';
import { keyOf } from '../identity.ts';
import { readCaller, type ForwardedRequest } from './forwarded-request.ts';
import { Forwards } from './forwards.ts';
import type { KeptSessions } from './kept-sessions.ts';
import { isSessionKey, Pin, refusalOf, unavailable, type ConnectionKey } from './pin.ts';
import { ReceivedExchange } from './received-exchange.ts';

/** How long a request looks for the process of its client, and the pause between. Milliseconds. */
const PATIENCE = 10_000;
const PAUSE = 250;
/** How often processes look whether the clients of others are still there. Milliseconds. */
const LOOK = 30_000;
/** How often the sessions are claimed that began while the store could not be reached. Milliseconds. */
const CLAIM = 1000;
/** How long the connection of a session is kept that no process has open. Milliseconds. */
const UNUSED = 30 * 60_000;
/** The most clients of other processes that are remembered. */
const MAX_ROUTES = 10_000;

/** What several processes that serve the same clients share. */
export interface SharedProcesses extends BusReach {
  readonly claims: Claims;
}

export interface PinsOptions {
  readonly processes: SharedProcesses;
  /** The name of the server, the same at all processes. */
  readonly name: string;
  /** Its command or URL. Processes may use the same store for another server of this name. */
  readonly server: string;
  /** Serves a request on a connection of this process. */
  readonly serve: (exchange: Exchange, connection: ConnectionKey) => Promise<JsonObject>;
  /** Ends the connection of a client without a session. */
  readonly end: (client: string) => void;
  /** Whether the server is known to keep nothing for a caller's connection (2026-07-28), so that any process can serve it. */
  readonly isStateless: (caller: Caller) => boolean;
  readonly onerror: (error: Error) => void;
  /** Keeps the sessions at the server for other processes. */
  readonly kept?: KeptSessions | undefined;
}

/** Another process has the connection now, or will have it. What the client subscribed to may have changed meanwhile. */
class Moved extends RpcError {}

interface Route {
  readonly node: NodeId;
  readonly service: Service;
}

/**
 * Gives each client one connection over all processes, because the state of a server belongs to a connection. The process
 * that gets the first request of a client claims it. The others pass its requests on to that process.
 */
export class Pins {
  readonly #options: PinsOptions;
  /** Kinds of calls. No name of a server makes one of them equal to that of another server. */
  readonly #kind: string;
  readonly #uses: string;
  readonly #over: string;
  readonly #forwards: Forwards;
  /** What this process has, by key. */
  readonly #pins = new Map<string, Pin>();
  readonly #byConnection = new Map<ConnectionKey, Pin>();
  /** Where other clients are, by key. */
  readonly #routes = new Map<string, Route>();
  readonly #oldestRoute = new Oldest(this.#routes);
  /** The sessions that are open here, by key. */
  readonly #sessions = new Map<string, Set<Session>>();
  /** What began here while the store could not be reached, so that it is not claimed yet. */
  readonly #toClaim = new Set<string>();
  /** Claims that end as soon as their connections have. */
  readonly #releasing = new Map<string, Promise<void>>();
  readonly #stop: readonly (() => void)[];
  readonly #closing = new AbortController();
  #draining = false;
  /** From then on, requests from other processes wait until this one has given their client up, by `performance.now()`. */
  #servesUntil = Infinity;

  constructor(options: PinsOptions) {
    const { processes, name } = options;
    const { bus, claims } = processes;
    this.#options = options;
    this.#kind = `bridge ${name}`;
    this.#uses = `bridge-uses ${name}`;
    this.#over = `bridge-over ${name}`;
    this.#forwards = new Forwards(bus, this.#kind);
    this.#stop = [
      bus.answer(this.#kind, (body, call) => this.#receive(body as unknown as ForwardedRequest, call)),
      bus.answer(this.#uses, async ({ key }) => ({ uses: this.#sessions.has(String(key)) })),
      bus.answer(this.#over, async ({ key, everywhere }, { from }) => this.#leave(String(key), from, !!everywhere)),
      claims.onlost((key) => this.#lose(key)),
      () => this.#forwards.close(),
    ];
    void repeatedly(CLAIM, () => this.#claimMissed(), this.#closing.signal);
    void repeatedly(LOOK, () => this.#lookAround().catch(options.onerror), this.#closing.signal);
  }

  /** How many clients have their connection at this process. */
  get size(): number {
    return this.#pins.size;
  }

  /** How many requests were passed on to other processes. */
  get forwarded(): number {
    return this.#forwards.count;
  }

  /**
   * Answers a request wherever the connection of its client is.
   *
   * @param connection the key of the client's connection if it has one at each process.
   */
  answer(exchange: Exchange, connection: ConnectionKey): Promise<JsonObject> {
    const { caller } = exchange;
    const key = this.#keyOf(caller);
    if (key === undefined || (this.#options.isStateless(caller) && !this.#pins.has(key)))
      return this.#options.serve(exchange, connection);
    if (caller.session) this.#follow(key, caller.session);
    if (exchange.method !== Method.Listen && this.#isSurelyHere(key)) return this.#serve(exchange, key);
    return exchange.method === Method.Listen ? this.#listen(exchange, key) : this.#route(exchange, key);
  }

  /** Keeps the session of a connection for other processes. */
  keeperOf(connection: ConnectionKey): SessionKeeper | undefined {
    const pin = this.#byConnection.get(connection);
    return pin && this.#options.kept?.keeperOf(pin);
  }

  /** The bridge ends a connection, for any reason. */
  ended(connection: ConnectionKey, closed: Promise<void>): void {
    const pin = this.#byConnection.get(connection);
    if (!pin) return;
    this.#byConnection.delete(connection);
    this.#pins.delete(pin.key);
    pin.idle.wake();
    for (const node of [...pin.distant.keys()]) pin.leave(node, new Error('The connection to the server has ended'));
    this.#release(pin.key, closed);
  }

  /**
   * Claims nothing more, lets calls finish, and gives all clients up, so that other processes get them. In the second half of the time,
   * requests from other processes wait for the next one, so that a client that always has calls does not lose any.
   *
   * @param timeout milliseconds after which unfinished calls are ended.
   */
  async drain(timeout: number): Promise<void> {
    this.#draining = true;
    this.#servesUntil = performance.now() + timeout / 2;
    const given = AbortSignal.timeout(Math.max(1, timeout));
    await Promise.all(
      [...this.#pins.values()].map(async (pin) => {
        while (pin.calls > 0 && !given.aborted) await pin.idle.wait({ signal: given });
        pin.moved = true;
        this.#end(pin);
      }),
    );
    await Promise.all(this.#releasing.values());
  }

  /** Call it after all connections were ended. */
  async close(): Promise<void> {
    this.#draining = true;
    this.#closing.abort();
    await Promise.all(this.#releasing.values());
    for (const stop of this.#stop) stop();
  }

  /** Undefined if only this process can have the caller's session. */
  #keyOf(caller: Caller): string | undefined {
    const { name, server } = this.#options;
    const { session } = caller;
    if (!session) {
      // Clients choose what they declare, so it may be long. The id of a session leads to no other server, but a client that has
      // none may call both.
      const client = JSON.stringify([server, keyOf(caller)]);
      return JSON.stringify([name, 'client', createHash('sha256').update(client).digest('base64url')]);
    }
    return session.sharedId === undefined ? undefined : JSON.stringify([name, 'session', session.sharedId]);
  }

  #isSurelyHere(key: string): boolean {
    return this.#pins.has(key) && this.#options.processes.claims.holds(key);
  }

  async #route(exchange: Exchange, key: string): Promise<JsonObject> {
    let cause: unknown;
    const end = performance.now() + PATIENCE;
    // The first one may have waited until another process gave the client up.
    for (let attempt = 0; attempt <= 1 || performance.now() < end; attempt += 1) {
      if (attempt > 1) await pause(PAUSE, exchange.signal);
      if (isAborted(exchange)) throw RpcError.from(abortReason(exchange));
      const route = await this.#find(exchange, key);
      if (route === undefined) return this.#serve(exchange, key);
      try {
        return await route.service(exchange);
      } catch (error) {
        if (error instanceof AnswerLost) this.#forgetRoute(key, route);
        // What a server is can be asked again. A session that goes on at another process begins with it.
        const isRepeatable = exchange.method === Method.Discover;
        if (error instanceof AnswerLost && !isRepeatable && !isAborted(exchange)) {
          const why = 'The process that ran this has ended, or its answer was lost; this may have been done in part';
          throw new Moved(CONNECTION_CLOSED, why, { cause: error });
        }
        if (!(error instanceof NotTaken) && !(error instanceof AnswerLost && isRepeatable)) throw error;
        cause = error;
        this.#forgetRoute(key, route);
      }
    }
    throw this.#unavailable(cause);
  }

  /** Where the client is. Undefined if its connection is here. @throws RpcError if that is not known. */
  async #find({ method, caller }: Exchange, key: string): Promise<Route | undefined> {
    const { processes, isStateless } = this.#options;
    const { claims, node } = processes;
    // No client has two connections at a time.
    await this.#releasing.get(key);
    if (claims.holds(key) || isStateless(caller)) return undefined;
    const known = this.#routes.get(key);
    if (known) return known;
    if (this.#draining && !this.#pins.has(key)) throw unavailable(new Error('The server is shutting down'));
    let holder: NodeId;
    try {
      holder = await claims.claim(key);
    } catch (error) {
      // Nobody else can claim it now. A session that begins here is nowhere else.
      const { session } = caller;
      const begins = method === Method.Discover && session?.sharedId !== undefined && !session.revived;
      if (!begins && !this.#pins.has(key)) throw this.#unavailable(error);
      this.#toClaim.add(key);
      return undefined;
    }
    if (holder === node) return undefined;
    this.#lose(key);
    const service = checkHeaders((exchange) => this.#forward(exchange, key, holder));
    const route = { node: holder, service };
    this.#routes.set(key, route);
    if (this.#routes.size > MAX_ROUTES) this.#routes.delete(this.#oldestRoute.take()!);
    return route;
  }

  /** The client learns only that Redis refuses commands, and the log also learns why. */
  #unavailable(cause: unknown): RpcError {
    const refusal = refusalOf(cause);
    if (refusal) this.#options.onerror(refusal);
    return unavailable(cause);
  }

  #forgetRoute(key: string, route: Route): void {
    if (this.#routes.get(key) === route) this.#routes.delete(key);
  }

  /** @throws as `Bus.call`. */
  async #forward(exchange: Exchange, key: string, to: NodeId): Promise<JsonObject> {
    const answer = await this.#forwards.send(to, key, exchange);
    if (!answer.held) throw new NotTaken('Another process no longer has the client');
    return answer.result;
  }

  /** Serves a request here. */
  async #serve(exchange: Exchange, key: string): Promise<JsonObject> {
    const pin = this.#pinOf(key, exchange.caller);
    try {
      return await pin.use(exchange, () => this.#options.serve(exchange, pin.connection));
    } catch (error) {
      if (pin.moved && !(error instanceof Moved)) {
        const { code, message, data } = RpcError.from(error);
        throw new Moved(code, message, { data, cause: error });
      }
      throw error;
    } finally {
      if (this.#options.isStateless(exchange.caller) && !pin.unclaimed) {
        pin.unclaimed = true;
        this.#release(key, Promise.resolve(), true);
      }
    }
  }

  #pinOf(key: string, caller: Caller): Pin {
    const known = this.#pins.get(key);
    if (known) return known;
    const pin = new Pin(key, isSessionKey(key) ? undefined : keyOf(caller));
    this.#pins.set(key, pin);
    this.#byConnection.set(pin.connection, pin);
    return pin;
  }

  /** Answers a request of another process. */
  async #receive(request: ForwardedRequest, call: ReceivedCall): Promise<JsonObject> {
    const { key, caller } = request;
    const { processes, isStateless } = this.#options;
    const { claims, node } = processes;
    const withoutSession = readCaller(caller, undefined);
    const stateless = isStateless(withoutSession);
    while (performance.now() >= this.#servesUntil && this.#pins.has(key) && !call.signal.aborted)
      await this.#pins.get(key)!.idle.wait({ signal: call.signal });
    await this.#releasing.get(key);
    const isFree = this.#draining ? this.#pins.has(key) : !stateless;
    const claim = (): Promise<NodeId> =>
      claims.claim(key).catch((error: unknown) => {
        throw this.#unavailable(error);
      });
    const isHere = isFree && (claims.holds(key) || (await claim()) === node);
    if (!isHere) {
      if (stateless) this.#release(key, Promise.resolve(), true);
      return { held: false };
    }
    const pin = this.#pinOf(key, withoutSession);
    const session = pin.ofSession ? pin.at(call.from) : undefined;
    const parts = { bus: processes.bus, onerror: this.#options.onerror };
    const exchange = new ReceivedExchange(parts, request, readCaller(caller, session), call);
    const isListen = exchange.method === Method.Listen;
    try {
      const result = await this.#serve(exchange, key);
      await exchange.finish();
      return isListen && exchange.lost ? { held: false } : { held: true, result };
    } catch (error) {
      await exchange.finish();
      if (isListen && (error instanceof Moved || exchange.lost)) return { held: false };
      throw error;
    } finally {
      // The other process may have ended, and cannot say so itself.
      if (isListen && exchange.lost && pin.ofSession) pin.tellChanged(exchange);
    }
  }

  /**
   * Listens wherever the connection is. If it moves, listens again, and says that all may have changed. That begins a new
   * connection, so that the client hears changes also without a call.
   */
  async #listen(exchange: Exchange, key: string): Promise<JsonObject> {
    const resubscription = new Resubscription();
    const tell = acknowledgedOnce(exchange);
    let acknowledged = false;
    const notify: Exchange['notify'] = (method, params) => {
      if (method === NotificationMethod.Acknowledged) {
        acknowledged = true;
        resubscription.acknowledged();
      }
      return tell(method, params);
    };
    const through = derive(exchange, { notify });
    const { signal } = exchange;
    while (!signal.aborted) {
      try {
        return await this.#route(through, key);
      } catch (error) {
        if (signal.aborted) break;
        if (!acknowledged || !(error instanceof Moved || error instanceof Unavailable) || this.#draining) throw error;
      }
      resubscription.ended();
      await resubscription.pause(signal, this.#closing.signal);
    }
    return {};
  }

  /** Remembers a session that is open here until it ends. */
  #follow(key: string, session: Session): void {
    const sessions = this.#sessions.get(key) ?? new Set();
    this.#sessions.set(key, sessions);
    if (sessions.has(session)) return;
    sessions.add(session);
    const over = (): void => {
      sessions.delete(session);
      if (sessions.size === 0 && this.#sessions.get(key) === sessions) {
        this.#sessions.delete(key);
        // Other processes go on with it.
        if (!this.#draining) this.#sessionOver(key, session.endedEverywhere === true);
      }
    };
    if (session.signal.aborted) over();
    else session.signal.addEventListener('abort', over, { once: true });
  }

  #sessionOver(key: string, everywhere: boolean): void {
    const route = this.#routes.get(key);
    this.#routes.delete(key);
    this.#endIfUnused(key, everywhere);
    // If it is lost, the other process asks.
    if (route) this.#options.processes.bus.call(route.node, this.#over, { key, everywhere }).catch(() => {});
  }

  /** The client's session has ended at another process. */
  #leave(key: string, node: NodeId, everywhere = false): JsonObject {
    this.#pins.get(key)?.leave(node, new Error('The session has ended'));
    this.#endIfUnused(key, everywhere);
    return {};
  }

  /** @param everywhere whether no process has the session, also if those that had it and are gone have not said so. */
  #endIfUnused(key: string, everywhere = false): void {
    const pin = this.#pins.get(key);
    if (pin?.ofSession && (everywhere || pin.distant.size === 0) && !this.#sessions.has(key)) this.#end(pin);
  }

  #end(pin: Pin): void {
    if (typeof pin.connection === 'string') this.#options.end(pin.connection);
    else pin.end();
    // If the bridge had no connection yet, it has not said that it has ended.
    this.ended(pin.connection, Promise.resolve());
  }

  /** Another process has the client, because this one sent no heartbeat. */
  #lose(key: string): void {
    const pin = this.#pins.get(key);
    if (!pin) return;
    pin.moved = true;
    this.#end(pin);
  }

  /** @param stays whether this process goes on without the claim. */
  #release(key: string, closed: Promise<void>, stays = false): void {
    const { claims } = this.#options.processes;
    const releasing: Promise<void> = closed
      .then(() => (stays || !this.#pins.has(key) ? claims.release(key) : undefined))
      // It ends with this process.
      .catch(() => {})
      .finally(() => {
        if (this.#releasing.get(key) === releasing) this.#releasing.delete(key);
      });
    this.#releasing.set(key, releasing);
  }

  /** Soon, so that the next request of a session that began without its claim is passed on to this process. */
  async #claimMissed(): Promise<void> {
    const { claims, node } = this.#options.processes;
    for (const key of this.#toClaim) {
      try {
        if (this.#pins.has(key) && (await claims.claim(key)) !== node) this.#lose(key);
        this.#toClaim.delete(key);
      } catch {
        return;
      }
    }
  }

  /** Asks other processes for the sessions that they had open, because their messages may be lost. */
  async #lookAround(): Promise<void> {
    const { bus, isAlive } = this.#options.processes;
    const silent = new Set<NodeId>();
    for (const pin of [...this.#pins.values()]) {
      for (const node of [...pin.distant.keys()]) {
        if (silent.has(node)) continue;
        const asked = performance.now();
        try {
          const { uses } = await bus.call(node, this.#uses, { key: pin.key });
          // If a request came from there meanwhile, the session may have been opened after the answer.
          if (uses === false && pin.isSilent(node, asked)) this.#leave(pin.key, node);
        } catch {
          // The session goes on at others, so the connection is kept for some time.
          if (await isAlive(node).catch(() => true)) silent.add(node);
          else pin.leave(node, new Error('Another process has ended'));
        }
      }
      if (pin.calls === 0 && performance.now() - pin.lastUsed > UNUSED) this.#endIfUnused(pin.key);
    }
  }
}
