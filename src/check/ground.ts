import type { JsonObject } from '../jsonrpc/message.ts';
import type { Revision } from '../protocol/revisions.ts';
import { HttpPeer } from './http-peer.ts';
import { HttpSession } from './http-session.ts';
import type { Marks } from './marks.ts';
import { Skip } from './outcome.ts';
import type { UpstreamRoute } from '../wire/era-cache.ts';
import { SseSession } from './sse-session.ts';
import type { AllowedCall, CheckedServer } from './server.ts';
import type { RawSession } from './session.ts';
import { StdioChild } from './stdio-child.ts';
import { StdioSession } from './stdio-session.ts';

/** What the server offers in a revision. */
export interface Offer {
  readonly capabilities: JsonObject;
  readonly tools: readonly JsonObject[];
  readonly resources: readonly JsonObject[];
  readonly prompts: readonly JsonObject[];
  /** The allowed calls that were made, with the time that each took in milliseconds. */
  readonly calls: readonly (AllowedCall & { readonly took: number })[];
}

export interface GroundOptions {
  readonly server: CheckedServer;
  /** How messages travel. Default: Streamable HTTP, or stdio. */
  readonly route?: UpstreamRoute | undefined;
  readonly revision: Revision;
  /** All revisions that the server speaks. */
  readonly spoken: readonly Revision[];
  readonly offer: Offer;
  readonly marks: Marks;
  readonly patience: number;
  readonly signal: AbortSignal;
}

/** Where one probe meets the server, over connections of its own. */
export class Ground {
  readonly revision: Revision;
  readonly spoken: readonly Revision[];
  readonly offer: Offer;
  readonly patience: number;
  readonly signal: AbortSignal;
  readonly #options: GroundOptions;
  readonly #open: { close(): unknown }[] = [];
  readonly #sessions: HttpSession[] = [];

  constructor(options: GroundOptions) {
    this.#options = options;
    this.revision = options.revision;
    this.spoken = options.spoken;
    this.offer = options.offer;
    this.patience = options.patience;
    this.signal = options.signal;
  }

  /** A conversation, opened as a correct client does. */
  async session(revision = this.revision): Promise<RawSession> {
    return (await this.unopened(revision)).open();
  }

  httpSession(revision = this.revision): Promise<HttpSession> {
    return this.unopenedHttp(revision).open();
  }

  async stdioSession(revision = this.revision): Promise<StdioSession> {
    return (await this.unopenedStdio(revision)).open();
  }

  /** A conversation before the handshake. */
  async unopened(revision = this.revision): Promise<RawSession> {
    if (this.overSse) return this.unopenedSse(revision).connect();
    return this.#options.server.kind === 'url' ? this.unopenedHttp(revision) : this.unopenedStdio(revision);
  }

  /** Whether messages travel over HTTP+SSE. */
  get overSse(): boolean {
    return this.#options.route === 'http+sse';
  }

  unopenedSse(revision = this.revision): SseSession {
    const { patience, signal } = this;
    return new SseSession(this.peer(), { revision, patience, signal });
  }

  unopenedHttp(revision = this.revision): HttpSession {
    const session = new HttpSession(this.peer(), revision);
    this.#sessions.push(session);
    return session;
  }

  async unopenedStdio(revision = this.revision): Promise<StdioSession> {
    const { patience, signal } = this;
    return new StdioSession(await this.child(), { revision, patience, signal });
  }

  /** New connections to the endpoint. */
  peer(): HttpPeer {
    const { server, marks } = this.#options;
    if (server.kind !== 'url') throw new Skip('the server is a command');
    const { url, headers, authorizer } = server;
    const peer = new HttpPeer({ url, headers, authorizer, marks, patience: this.patience, signal: this.signal });
    this.#open.push(peer);
    return peer;
  }

  /** The server, started anew. */
  async child(): Promise<StdioChild> {
    const { server, marks } = this.#options;
    if (server.kind !== 'command') throw new Skip('the server is at a URL');
    const child = await StdioChild.start(server.target, marks);
    this.#open.push(child);
    return child;
  }

  /** Whether the server declared a capability in this revision. */
  has(capability: string): boolean {
    return this.offer.capabilities[capability] !== undefined;
  }

  /** The capabilities with lists that the server declared. */
  get lists(): string[] {
    return ['tools', 'resources', 'prompts'].filter((each) => this.has(each));
  }

  /** The allowed call that took longest. */
  get slowest(): Offer['calls'][number] | undefined {
    return this.offer.calls.toSorted((a, b) => b.took - a.took).at(0);
  }

  /** @throws Skip */
  needs(capability: string): void {
    if (!this.has(capability)) throw new Skip(`the server does not declare ${capability}`);
  }

  /** Closes everything that the probe opened, and ends its sessions. */
  async close(): Promise<void> {
    if (!this.signal.aborted) await Promise.allSettled(this.#sessions.splice(0).map((session) => session.end()));
    await Promise.all(this.#open.splice(0).map((each) => each.close()));
  }
}
