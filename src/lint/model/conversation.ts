import { Oldest } from '../../base/oldest.ts';
import type { JsonObject, RequestId } from '../../jsonrpc/message.ts';
import type { Revision } from '../../protocol/revisions.ts';

/** Who sent a message. */
export type Side = 'client' | 'server';

export function otherSide(side: Side): Side {
  return side === 'client' ? 'server' : 'client';
}

/** How the messages of a conversation travel. `sse` is the HTTP+SSE of 2024-11-05. */
export type Carriage = 'stdio' | 'http' | 'sse';

/** A request that was seen. */
export interface SeenRequest {
  /** The number of its record. */
  readonly n: number;
  readonly id: RequestId;
  readonly method: string;
  readonly from: Side;
  /** Undefined if its content is not known, and after it was answered. */
  params: JsonObject | undefined;
  readonly revisions: readonly Revision[];
  /** For HTTP: the connection and the exchange, as `conn/exchange`. */
  readonly exchange: string | undefined;
  readonly progressToken: RequestId | undefined;
  /** The tool that it calls, as it was listed then. */
  readonly tool: JsonObject | undefined;
  /** The number of the record that answered it. */
  answered: number | undefined;
  /** The number of the record that cancelled it. */
  cancelled: number | undefined;
  /** Whether it was answered with a task, whose progress continues. */
  isTask: boolean;
  /** The newest value of its progress. */
  progress: number | undefined;
  /** For `subscriptions/listen`: the filter that the server has accepted. */
  accepted: JsonObject | undefined;
}

/** An event that was seen: the number of its record, and the exchange that began its stream if that is known. */
export interface SeenEvent {
  readonly n: number;
  readonly stream: string | undefined;
}

/** The most requests of each side that are remembered. */
const MAX_REQUESTS = 1000;
/** The most open requests of each side whose params are kept. */
const MAX_PARAMS = 100;
/** The longest id or token that is remembered, in UTF-16 code units of its JSON. */
const MAX_ID = 1024;

/** The requests of one side in one conversation. */
export class Requests {
  readonly #byId = new Map<string, SeenRequest>();
  readonly #oldest = new Oldest(this.#byId);
  readonly #byToken = new Map<string, SeenRequest>();
  readonly #oldestToken = new Oldest(this.#byToken);
  /** Whether all requests since the beginning are in memory, so that one that is not found was never sent. */
  isComplete = true;

  readonly #withParams: SeenRequest[] = [];

  add(request: SeenRequest): void {
    this.#withParams.push(request);
    if (this.#withParams.length > MAX_PARAMS) this.#withParams.shift()!.params = undefined;
    put(this, this.#byId, this.#oldest, request.id, request);
    if (request.progressToken !== undefined)
      put(this, this.#byToken, this.#oldestToken, request.progressToken, request);
  }

  /** A request was refused before it was read, so it may be sent again. */
  forget(request: SeenRequest): void {
    const { id, progressToken: token } = request;
    if (this.find(id) === request) this.#byId.delete(JSON.stringify(id));
    if (token !== undefined && this.withToken(token) === request) this.#byToken.delete(JSON.stringify(token));
  }

  find(id: unknown): SeenRequest | undefined {
    return this.#byId.get(JSON.stringify(id));
  }

  withToken(token: unknown): SeenRequest | undefined {
    return this.#byToken.get(JSON.stringify(token));
  }

  /** The requests that wait for an answer. */
  *open(): Generator<SeenRequest> {
    for (const request of this.#byId.values()) if (request.answered === undefined) yield request;
  }

  /** Bytes or records are missing: a request that is not known may have been in them, and so may an answer. */
  lose(): void {
    this.#byId.clear();
    this.#byToken.clear();
    this.isComplete = false;
  }
}

function put(
  requests: Requests,
  map: Map<string, SeenRequest>,
  oldest: Oldest<string>,
  id: RequestId,
  request: SeenRequest,
): void {
  const key = JSON.stringify(id);
  if (key.length > MAX_ID) {
    requests.isComplete = false;
    return;
  }
  map.delete(key);
  map.set(key, request);
  if (map.size <= MAX_REQUESTS) return;
  map.delete(oldest.take()!);
  requests.isComplete = false;
}

/**
 * How far a conversation with a handshake has come. `none` if there is no handshake: in 2026-07-28, or if its beginning
 * was not seen.
 */
export type Phase = 'none' | 'new' | 'initializing' | 'answered' | 'operating';

/** The most tools of a conversation that are remembered. */
const MAX_TOOLS = 500;
/** The most tasks. */
const MAX_TASKS = 1000;

/**
 * What is known about messages that belong together: of a stdio connection, an HTTP session, or, without a session, of
 * all requests to one endpoint.
 */
export class Conversation {
  readonly carriage: Carriage;
  /** Whether several clients may share it: then ids and capabilities of one say nothing about another. */
  readonly isShared: boolean;
  /** The revision of the handshake. */
  revision: Revision | undefined;
  phase: Phase;
  /** Whether the server has shown that it speaks 2026-07-28. */
  isModernServer = false;
  /** Declared in the handshake. Undefined if not known. */
  clientCapabilities: JsonObject | undefined;
  serverCapabilities: JsonObject | undefined;
  readonly requests: Readonly<Record<Side, Requests>> = { client: new Requests(), server: new Requests() };
  /** For HTTP: the session, if it has one. */
  session: string | undefined;
  /** The number of the record that ended the session. */
  ended: number | undefined;
  /** The number of the record in which the server said that it does not know the session. */
  gone: number | undefined;
  /** The ids of events on the streams of a session. */
  readonly eventIds = new Map<string, SeenEvent>();
  /** Tools by name. Null if there were different ones of one name. */
  readonly #tools = new Map<string, JsonObject | null>();
  /** The ids of tasks, with their last status. */
  readonly tasks = new Map<string, string>();
  /** The `requestState` values and the cursors that the server has sent. Undefined if some were forgotten. */
  readonly states = new KnownTexts();
  readonly cursors = new KnownTexts();
  /** The `cacheScope` of the page that named a cursor, by method and cursor. Null if there were different ones. */
  readonly #pageScopes = new Map<string, string | null>();
  /** The ids of elicitations by URL (2025-11-25). */
  readonly elicitations = new KnownTexts();
  #answered: SeenRequest | undefined;

  constructor(carriage: Carriage, isShared: boolean, phase: Phase) {
    this.carriage = carriage;
    this.isShared = isShared;
    this.phase = phase;
    if (isShared) this.lose();
  }

  /** Records are missing. What was negotiated still holds. */
  lose(): void {
    for (const side of ['client', 'server'] as const) this.requests[side].lose();
    if (this.phase !== 'operating') this.phase = 'none';
    this.eventIds.clear();
    this.tasks.clear();
    this.#tools.clear();
    this.#pageScopes.clear();
    this.ended = undefined;
    this.gone = undefined;
    for (const texts of [this.states, this.cursors, this.elicitations]) texts.lose();
  }

  /** The tool as the server listed it. Undefined if it is not known, or not certain. */
  tool(name: unknown): JsonObject | undefined {
    return typeof name === 'string' ? (this.#tools.get(name) ?? undefined) : undefined;
  }

  addTool(name: string, tool: JsonObject): void {
    const known = this.#tools.get(name);
    // Callers may see different tools, and which of them calls is not known.
    const differs = this.isShared && known !== undefined && JSON.stringify(known) !== JSON.stringify(tool);
    if (this.#tools.size < MAX_TOOLS || known !== undefined) this.#tools.set(name, differs ? null : tool);
  }

  /** Forgets the params of the request that was answered before this one. Those of this one are still judged. */
  forgetParams(answered: SeenRequest): void {
    if (this.#answered && this.#answered !== answered) this.#answered.params = undefined;
    this.#answered = answered;
  }

  /** A task has a status. Tasks of several clients have different ids. */
  addTask({ taskId, status }: { readonly taskId: string; readonly status: string }): void {
    if (this.tasks.size < MAX_TASKS || this.tasks.has(taskId)) this.tasks.set(taskId, status);
  }

  /** Remembers the `cacheScope` of a page for the next one. */
  addPage(method: string, cursor: unknown, scope: unknown): void {
    if (typeof cursor !== 'string' || typeof scope !== 'string' || cursor.length > MAX_TEXT) return;
    const key = `${method} ${cursor}`;
    const known = this.#pageScopes.get(key);
    if (this.#pageScopes.size < MAX_TEXTS || known !== undefined)
      this.#pageScopes.set(key, known === undefined || known === scope ? scope : null);
  }

  /** The `cacheScope` of the page before. Undefined if it is not known. */
  scopeBefore(method: string, cursor: unknown): string | undefined {
    return this.#pageScopes.get(`${method} ${String(cursor)}`) ?? undefined;
  }

  forgetTools(): void {
    this.#tools.clear();
  }
}

/** The most texts that are remembered, and the longest one. */
const MAX_TEXTS = 1000;
const MAX_TEXT = 2 * 1024;

/** Texts that one side got from the other. */
export class KnownTexts {
  readonly #texts = new Set<string>();
  /** Whether none was forgotten. */
  isComplete = true;

  add(text: unknown): void {
    if (typeof text !== 'string') return;
    if (text.length > MAX_TEXT || this.#texts.size >= MAX_TEXTS) this.isComplete = false;
    else this.#texts.add(text);
  }

  /** False only if the text was certainly never seen. */
  mayHave(text: string): boolean {
    return !this.isComplete || this.#texts.has(text);
  }

  lose(): void {
    this.#texts.clear();
    this.isComplete = false;
  }
}
