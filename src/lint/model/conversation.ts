import type { JsonObject } from '../../jsonrpc/message.ts';
import type { Revision } from '../../protocol/revisions.ts';
import { Requests, type SeenRequest, type Side } from './requests.ts';
import { SeenTasks } from './seen-tasks.ts';

/** How the messages of a conversation travel. `sse` is the HTTP+SSE of 2024-11-05. */
export type Carriage = 'stdio' | 'http' | 'sse';

/** A request that was answered with questions (2026-07-28, basic/patterns/mrtr). */
export interface Round {
  readonly method: string;
  /** The name or URI in its params. Undefined if it has none. */
  readonly target: unknown;
  /** The questions by their keys. Undefined if they are long. */
  readonly questions: JsonObject | undefined;
}

/** An event that was seen: the number of its record, and the exchange that began its stream if that is known. */
export interface SeenEvent {
  readonly n: number;
  readonly stream: string | undefined;
}

/**
 * How far a conversation with a handshake has come. `none` if there is no handshake: in 2026-07-28, or if its beginning
 * was not seen.
 */
export type Phase = 'none' | 'new' | 'initializing' | 'answered' | 'operating';

/** The most tools of a conversation that are remembered. */
const MAX_TOOLS = 500;

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
  readonly tasks = new SeenTasks();
  /** The `requestState` values and the cursors that the server has sent. Undefined if some were forgotten. */
  readonly states = new KnownTexts();
  readonly cursors = new KnownTexts();
  /** The `cacheScope` of the page that named a cursor, by method and cursor. Null if there were different ones. */
  readonly #pageScopes = new Map<string, string | null>();
  /** What was answered with questions, by the state. Null if there were different requests. */
  readonly #rounds = new Map<string, Round | null>();
  /** The names of tools in the order of the last list that came as one page. */
  toolOrder: readonly string[] | undefined;
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
    this.#rounds.clear();
    this.toolOrder = undefined;
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

  /** Remembers the request that was answered with questions and a state. */
  addRound(state: unknown, round: Round): void {
    if (typeof state !== 'string' || state.length > MAX_TEXT) return;
    const known = this.#rounds.get(state);
    // A state that is not unique says nothing about its request.
    const isOther = known !== undefined && (known?.method !== round.method || known.target !== round.target);
    if (this.#rounds.size < MAX_TEXTS || known !== undefined) this.#rounds.set(state, isOther ? null : round);
  }

  /** The request that was answered with this state. Undefined if it is not known, or not certain. */
  roundOf(state: unknown): Round | undefined {
    return typeof state === 'string' ? (this.#rounds.get(state) ?? undefined) : undefined;
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
    return typeof cursor === 'string' ? (this.#pageScopes.get(`${method} ${cursor}`) ?? undefined) : undefined;
  }

  forgetTools(): void {
    this.#tools.clear();
    this.toolOrder = undefined;
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
