import type { Client } from '../client/client.ts';
import { connect } from '../client/connect.ts';
import type { Handlers } from '../client/handlers.ts';
import type { ClientOptions } from '../client/options.ts';
import type { CommandTarget } from '../client/target.ts';
import type { Middleware } from '../core/exchange.ts';
import type { Capture } from '../inspect/capture.ts';
import type { Attempt, ConnectionState, Problem, RawMessage } from '../inspect/page-server/page-api.ts';
import { CommandRefused } from '../inspect/page-server/command-refused.ts';
import { isObject, type JsonObject, type JsonValue } from '../jsonrpc/message.ts';
import { weightOf } from '../jsonrpc/weight.ts';
import { APP_TYPE, APPS_EXTENSION } from '../protocol/apps.ts';
import type { Revision } from '../protocol/revisions.ts';
import type { DiscoverResult } from '../protocol/types.ts';
import type { Authorizer } from '../transport/http/client/authorizer.ts';
import { childTransport, type ChildTransport } from '../transport/stdio/child.ts';
import type { Wiretap } from '../transport/wiretap.ts';
import type { EraCache } from '../wire/era-cache.ts';
import { AttemptLog } from './attempts.ts';
import { sendRawRequest } from './raw-request.ts';
import { explain, noiseProblem } from './problem.ts';

/** A server that the inspector can connect to. */
export type InspectedServer =
  | { readonly kind: 'command'; readonly target: CommandTarget }
  | {
      readonly kind: 'url';
      readonly url: URL;
      readonly headers: Readonly<Record<string, string>>;
      readonly transport?: 'http' | 'sse' | undefined;
      /** Gets tokens for it, instead of the inspector's authorizer. */
      readonly authorizer?: MakeAuthorizer | undefined;
      /** How its user logs in, to go through that step by step. Default: as with any server. */
      readonly login?: LoginSettings | undefined;
    };

/** A registered client, and how it requests tokens. */
export interface LoginSettings {
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
  /** The port that the browser returns to. Default: a free one. */
  readonly callbackPort?: number | undefined;
}

/**
 * Gets tokens for a server. `onlogin` is called with the address that the user must open, and with undefined when the
 * login is over.
 */
export type MakeAuthorizer = (url: URL, onlogin: (address: URL | undefined) => void) => Promise<Authorizer>;

/** Records the connections, and lets the inspector read the records. */
export interface InspectorCapture extends Wiretap, Pick<Capture, 'started' | 'newest' | 'records'> {}

/** How to connect. */
export interface ConnectionOptions extends Handlers {
  readonly capture: InspectorCapture;
  readonly revision?: Revision | undefined;
  /** Milliseconds that connecting may take, without the time for a login. Default 60 000. */
  readonly connectTimeout?: number | undefined;
  readonly authorizer?: MakeAuthorizer | undefined;
  /** Around the connection. */
  readonly middleware?: readonly Middleware[] | undefined;
  readonly onstate: (state: ConnectionState) => void;
}

/**
 * The largest message of a server, in bytes. Larger than elsewhere, because an inspector must show unusual messages
 * too.
 */
const MAX_MESSAGE = 128 * 1024 * 1024;
/** How many lines of stderr are kept, and how much of each, in UTF-16 code units. */
const MAX_LINES = 50;
const MAX_LINE = 2000;
/** The largest description of a server that is shown, in bytes (estimated). */
const MAX_DESCRIPTION = 256 * 1024;
/**
 * The page can show MCP Apps. A server learns it when the connection opens, before anybody has chosen an app, so it is
 * always declared (MCP Apps 2026-01-26, Capability Negotiation).
 */
const CAPABILITIES = { extensions: { [APPS_EXTENSION]: { mimeTypes: [APP_TYPE] } } };
/** Remembers nothing, so that each connection shows the whole negotiation. */
const NO_CACHE: EraCache = { get: () => undefined, set: () => {} };

/** A connection to a server, from the first attempt on. */
export class InspectedConnection {
  readonly #options: ConnectionOptions;
  readonly #server: InspectedServer;
  readonly #closing = new AbortController();
  readonly #over: Promise<void>;
  #state: ConnectionState = { status: 'connecting', attempts: [], stderr: [] };
  readonly #log = new AttemptLog();
  #client: Client | undefined;
  /** The process of a command. */
  #child: ChildTransport | undefined;
  /** The description that is shown. */
  #discovered: DiscoverResult | undefined;
  /** Why it was lost. */
  #reason: Error | undefined;

  constructor(server: InspectedServer, options: ConnectionOptions) {
    this.#server = server;
    this.#options = options;
    options.onstate(this.#state);
    this.#over = this.#open();
  }

  /** The client while it is connected. */
  get client(): Client | undefined {
    return this.#state.status === 'connected' ? this.#client : undefined;
  }

  /** Ends the connection. Resolves when no process is left. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return this.#over;
    this.#closing.abort(new Error('Disconnected'));
    this.#update({ status: 'closed', login: undefined });
    await this.#over;
    await this.#client?.close();
  }

  /** Shows the server's description again. It may differ after the client has reconnected. */
  refresh(): void {
    const { client } = this;
    if (!client || client.discovered === this.#discovered) return;
    this.#discovered = client.discovered;
    this.#update(described(client));
  }

  /**
   * Sends bytes as they are.
   *
   * @throws CommandRefused if they need a head and have none, or the other way round. Error if they cannot be sent.
   */
  async sendRaw({ head, body, encoding }: RawMessage): Promise<void> {
    const server = this.#server;
    const bytes = Buffer.from(body, encoding);
    if ((server.kind === 'url') !== (head !== undefined))
      throw new CommandRefused(400, 'A message over HTTP needs a head, and a line of stdio has none.');
    if (server.kind === 'url')
      await sendRawRequest(server.url, { head: head!, body: bytes }, this.#options.capture, this.#closing.signal);
    else await this.#child!.writeBytes(Buffer.concat([bytes, Buffer.from('\n')]));
  }

  async #open(): Promise<void> {
    const stopFollowing = this.#follow();
    try {
      this.#client = await this.#connect();
      await stopFollowing(true);
      const transport = this.#server.kind === 'command' ? 'stdio' : this.#log.isSse ? 'sse' : 'streamable-http';
      if (this.#closing.signal.aborted) return;
      this.#discovered = this.#client.discovered;
      this.#update({
        ...described(this.#client),
        transport,
        status: 'connected',
        problem: undefined,
        login: undefined,
      });
      if (this.#client.closed) this.#lost(this.#reason);
    } catch (error) {
      await stopFollowing(false);
      const problem = await this.#explain(error);
      if (this.#state.status === 'connecting')
        this.#update({ status: 'failed', problem, attempts: this.#attempts, login: undefined });
    }
  }

  /** What was tried. If no connection was opened, there are no records. */
  get #attempts(): readonly Attempt[] {
    const { attempts } = this.#log;
    if (attempts.length > 0) return attempts;
    const server = this.#server;
    const what = server.kind === 'url' ? `connect to ${server.url.host}` : `start ${server.target.command}`;
    return [{ what, outcome: 'failed' }];
  }

  #explain(error: unknown): Promise<Problem> {
    const { noise, metadata } = this.#log;
    const url = this.#server.kind === 'url' ? this.#server.url : undefined;
    return explain(error, { url, noise, metadata });
  }

  async #connect(): Promise<Client> {
    const { revision, connectTimeout, onelicit, onsample, sampling, onroots, middleware } = this.#options;
    const server = this.#server;
    const options: ClientOptions = {
      capabilities: CAPABILITIES,
      ...{ revision, connectTimeout, onelicit, onsample, sampling, onroots, middleware },
      ...{
        wiretap: this.#options.capture,
        eraCache: NO_CACHE,
        cache: false,
        maxTimeout: 0,
        signal: this.#closing.signal,
      },
      // A command that has ended is not started again.
      restart: server.kind === 'url',
      // A server of the modern era reports changes only to a client that listens.
      onchange: () => {},
      onlost: (reason) => this.#lost(reason),
      // The records show them.
      onerror: () => {},
    };
    if (server.kind === 'command') {
      const onstderr = (line: string): void => this.#stderr(line);
      return connect(() => {
        const { capture: wiretap } = this.#options;
        this.#child = childTransport({ ...server.target, maxMessageBytes: MAX_MESSAGE, onstderr, wiretap });
        return this.#child;
      }, options);
    }
    const { url, headers, transport, authorizer: make = this.#options.authorizer } = server;
    const hasCredentials = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
    const onlogin = (address: URL | undefined): void => this.#update({ login: address && { url: address.href } });
    const authorizer = hasCredentials ? undefined : await make?.(url, onlogin);
    return connect(
      { url, transport },
      { ...options, headers, authorizer, httpLimits: { maxMessageBytes: MAX_MESSAGE } },
    );
  }

  /**
   * Shows the attempts, from the records of connections that open from now on. @returns a function that reads the
   * remaining records and stops.
   */
  #follow(): (connected: boolean) => Promise<void> {
    const { capture } = this.#options;
    const log = this.#log;
    const stopping = new AbortController();
    const { signal } = stopping;
    const first = capture.newest;
    let read = first;
    let last = Infinity;
    const connections = new Set<number>();
    const following = async (): Promise<void> => {
      for await (const records of capture.records({ after: first, signal })) {
        let changed = false;
        for (const record of records) {
          if (record.layer === 'open' && record.purpose === undefined) connections.add(record.conn);
          if ('conn' in record && connections.has(record.conn)) changed = log.add(record) || changed;
          read = record.n;
        }
        if (changed) this.#update({ attempts: log.attempts });
        // Do not let the user wait for the time limit to see it.
        if (log.noise !== undefined && !this.#state.problem) this.#update({ problem: noiseProblem(log.noise) });
        if (read >= last) return;
      }
    };
    const followed = following();
    return async (connected) => {
      last = capture.newest;
      if (read >= last) stopping.abort();
      await followed;
      log.end(connected);
      this.#update({ attempts: log.attempts });
    };
  }

  #lost(reason: Error | undefined): void {
    this.#reason = reason;
    // To a URL, the next call makes another connection.
    if (this.#server.kind === 'url' || this.#state.status !== 'connected') return;
    this.#update({ status: 'closed' });
    if (reason) void this.#explain(reason).then((problem) => this.#update({ problem }));
  }

  #stderr(line: string): void {
    this.#update({ stderr: [...this.#state.stderr, line.slice(0, MAX_LINE)].slice(-MAX_LINES) });
  }

  #update(change: Partial<ConnectionState>): void {
    this.#state = { ...this.#state, ...change };
    this.#options.onstate(this.#state);
  }
}

/** Each change of the state repeats the description, so the largest parts of a very large one are left out. */
function described(client: Client): Pick<ConnectionState, 'revision' | 'discovered'> {
  const { revision, serverInfo, discovered } = client;
  return { revision, discovered: smallestMembers({ ...discovered, serverInfo }, MAX_DESCRIPTION) };
}

/** The smallest members that have at most `room` bytes together. Of an object that does not fit, its own smallest members. */
function smallestMembers(object: JsonObject, room: number, levels = 3): JsonObject {
  const weights = Object.entries(object).map(([name, value]) => [name, name.length + weightOf(value, room)] as const);
  const kept: [name: string, value: JsonValue][] = [];
  let left = room;
  for (const [name, weight] of weights.toSorted(([, a], [, b]) => a - b)) {
    const value = object[name];
    if (weight <= left) kept.push([name, value]);
    else if (isObject(value) && levels > 1) kept.push([name, smallestMembers(value, left, levels - 1)]);
    else continue;
    left -= name.length + weightOf(kept.at(-1)![1], left);
  }
  return Object.fromEntries(kept);
}
