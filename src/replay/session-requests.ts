import { inTurns } from '../base/in-turns.ts';
import { isObject, isRequest, isResponse, type JsonObject, type Request, type Response } from '../jsonrpc/message.ts';
import { canonicalJson, without } from '../jsonrpc/shape.ts';
import { Meta, Method } from '../protocol/methods.ts';
import type { Revision } from '../protocol/revisions.ts';
import type { RecordedCall } from '../mock/recorded-call.ts';

/** The lists that come in pages, by method. */
export const PAGED: Readonly<Record<string, string>> = {
  [Method.ListTools]: 'tools',
  [Method.ListPrompts]: 'prompts',
  [Method.ListResources]: 'resources',
  [Method.ListResourceTemplates]: 'resourceTemplates',
};

/** What a server sent with a request, or on its own. */
export interface ServerMessage {
  readonly method: string;
  readonly params: JsonObject;
}

/** A question of the server, and its answer if there was one. */
export interface Question extends ServerMessage {
  readonly answer?: Response | undefined;
}

/**
 * A request of a session, as users count them: with the further pages of a list, the further rounds of questions, and
 * the further looks at a task.
 */
export interface SessionRequest {
  /** The number of its first record. */
  readonly n: number;
  readonly session: number;
  readonly revision: Revision;
  readonly method: string;
  /** Those of the first message. */
  readonly params: JsonObject;
  /** Microseconds since the recording began. */
  readonly sent: number;
  answered: number | undefined;
  readonly cancelled: number | undefined;
  /** The last answer. For a list: all its entries. */
  answer: Response | undefined;
  /** The first answer. */
  readonly first: Response | undefined;
  readonly questions: Question[];
  readonly notices: ServerMessage[];
}

/** What happened in a session: its requests, and what belongs to none of them. */
export interface SessionEvents {
  readonly requests: readonly SessionRequest[];
  readonly notices: readonly ServerMessage[];
  readonly questions: readonly Question[];
}

/** Joins the messages that belong to one request. */
export function eventsOf(calls: readonly RecordedCall[]): SessionEvents {
  const joiner = new Joiner();
  for (const call of calls) joiner.add(call);
  return joiner;
}

/** The same, in turns of the event loop. */
export async function eventsInTurns(calls: readonly RecordedCall[]): Promise<SessionEvents> {
  const joiner = new Joiner();
  await inTurns(calls, (call) => joiner.add(call));
  return joiner;
}

class Joiner implements SessionEvents {
  readonly requests: SessionRequest[] = [];
  readonly notices: ServerMessage[] = [];
  readonly questions: Question[] = [];
  /** The requests that a further page or round may continue, oldest first. */
  readonly #open = new Map<string, SessionRequest[]>();
  /** The entries of lists with further pages. */
  readonly #entries = new WeakMap<SessionRequest, unknown[]>();
  /** The questions of the last round of a request: their places, by their keys. */
  readonly #asked = new WeakMap<SessionRequest, Map<string, number>>();
  /** The `tasks/get` that was the last request about a task. */
  readonly #looks = new Map<string, SessionRequest>();

  add(call: RecordedCall): void {
    const { message } = call;
    const request = isRequest(message) ? this.#requestOf(call, message) : undefined;
    for (const { message: sent, isOwn, answer } of call.steps) {
      if (!('method' in sent)) continue;
      const { method, params = {} } = sent;
      const [notices, questions] =
        request && isOwn ? [request.notices, request.questions] : [this.notices, this.questions];
      if (isRequest(sent)) questions.push({ method, params, answer });
      else notices.push({ method, params });
    }
  }

  #requestOf(call: RecordedCall, message: Request): SessionRequest {
    const { n, session, revision, sent, answered, cancelled, steps } = call;
    const { method, params = {} } = message;
    const answer = steps.map((step) => step.message).find((each) => isResponse(each));
    const earlier = this.#continued(call, method, params);
    const request: SessionRequest = earlier ?? {
      ...{ n, session, revision, method, params, sent, answered, cancelled, answer, first: answer },
      questions: [],
      notices: [],
    };
    if (earlier) {
      earlier.answered = answered;
      if (answer) earlier.answer = method in PAGED ? this.#withEntries(earlier, answer, PAGED[method]!) : answer;
      this.#answerQuestions(earlier, params);
    } else this.requests.push(request);
    if (answer && 'result' in answer) this.#expect(request, answer.result);
    const { taskId } = params;
    if (typeof taskId === 'string') {
      if (method === Method.GetTask) this.#looks.set(taskId, request);
      else this.#looks.delete(taskId);
    }
    return request;
  }

  /** The request that a message continues. */
  #continued({ session }: RecordedCall, method: string, params: JsonObject): SessionRequest | undefined {
    if (method === Method.GetTask) return this.#looks.get(textOf(params['taskId']));
    const same = this.#open.get(keyOf(session, method, params, params['cursor'] ?? params['requestState']));
    return 'cursor' in params || isNextRound(params) ? same?.shift() : undefined;
  }

  /** A list with the entries of its next page. */
  #withEntries(request: SessionRequest, page: Response, property: string): Response {
    const { answer: list } = request;
    if (!list || 'error' in list || 'error' in page) return page;
    // There may be thousands of pages, so the entries of earlier ones are not copied again.
    const entries = this.#entries.get(request) ?? [...entriesOf(list.result[property])];
    for (const each of entriesOf(page.result[property])) entries.push(each);
    this.#entries.set(request, entries);
    return { ...page, result: { ...page.result, [property]: entries } };
  }

  /** What may continue a request. */
  #expect(request: SessionRequest, result: JsonObject): void {
    const { session, method, params } = request;
    const { nextCursor, resultType, requestState, inputRequests } = result;
    const isPage = method in PAGED && typeof nextCursor === 'string';
    if (!isPage && resultType !== 'input_required') return;
    const key = keyOf(session, method, params, isPage ? nextCursor : requestState);
    const same = this.#open.get(key);
    if (same) same.push(request);
    else this.#open.set(key, [request]);
    if (!isObject(inputRequests)) return;
    const places = new Map<string, number>();
    this.#asked.set(request, places);
    for (const [name, question] of Object.entries<unknown>(inputRequests)) {
      if (!isObject(question)) continue;
      const { method: asked, params: about } = question;
      places.set(name, request.questions.length);
      request.questions.push({ method: textOf(asked), params: isObject(about) ? about : {} });
    }
  }

  /** The answers to the questions of the round before. */
  #answerQuestions(request: SessionRequest, { inputResponses }: JsonObject): void {
    const places = this.#asked.get(request);
    if (!places || !isObject(inputResponses)) return;
    for (const [name, result] of Object.entries<unknown>(inputResponses)) {
      const at = places.get(name);
      if (at === undefined || !isObject(result)) continue;
      request.questions[at] = { ...request.questions[at]!, answer: { jsonrpc: '2.0', id: 0, result } };
    }
  }
}

/** Whether a request brings the answers to the questions of an earlier one (2026-07-28, basic/patterns/mrtr). */
function isNextRound(params: JsonObject): boolean {
  return params['inputResponses'] !== undefined || params['requestState'] !== undefined;
}

const OF_ONE_MESSAGE = ['_meta', 'cursor', 'inputResponses', 'requestState'];

function keyOf(session: number, method: string, params: JsonObject, state: unknown): string {
  return `${session} ${method} ${canonicalJson(without(params, OF_ONE_MESSAGE))} ${textOf(state)}`;
}

/** A text that a peer sent. What is no text, where one belongs, as JSON: an object may have no other text. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : canonicalJson(value);
}

function entriesOf(page: unknown): readonly unknown[] {
  return Array.isArray(page) ? page : [];
}

/** `tools/call add`, to show to users. */
export function titleOf({ method, params }: Pick<SessionRequest, 'method' | 'params'>): string {
  const name: unknown = params['name'] ?? params['uri'];
  return typeof name === 'string' ? `${method} ${name}` : method;
}

/** The capabilities that the recorded client declared. */
export function capabilitiesOf(requests: readonly SessionRequest[]): JsonObject {
  for (const { method, params } of requests) {
    const meta: unknown = params['_meta'];
    const declared: unknown =
      method === Method.Initialize
        ? params['capabilities']
        : isObject(meta)
          ? meta[Meta.ClientCapabilities]
          : undefined;
    if (isObject(declared)) return declared;
  }
  return {};
}
