import type { OpenRecord, WireRecord } from '../inspect/record.ts';
import type { JsonObject, Message, Notification, Request, RequestId, Response } from '../jsonrpc/message.ts';
import { checkMessage } from '../jsonrpc/parse.ts';
import type { Conversation } from '../lint/model/conversation.ts';
import type { MessageEvent, WireEvent } from '../lint/model/events.ts';
import type { SeenRequest } from '../lint/model/requests.ts';
import { WireModel } from '../lint/model/wire-model.ts';
import { Meta, Method, NotificationMethod } from '../protocol/methods.ts';
import { profileOf, type Revision } from '../protocol/revisions.ts';
import type { RecordedCall, RecordedStep } from './recorded-call.ts';

/** A step, with the times of the recording in microseconds. */
interface Step extends Pick<RecordedStep, 'message' | 'related' | 'isOwn' | 'subscription'> {
  readonly t: number;
  answer?: { readonly t: number; readonly response: Response };
}

/** A message of a client, with what is known about it so far. */
interface Draft {
  readonly n: number;
  readonly t: number;
  readonly role: string;
  readonly message: Request | Notification;
  readonly revisions: readonly Revision[];
  readonly conversation: Conversation;
  readonly steps: Step[];
  /** Whether its HTTP request was refused. Then the server has not read it. */
  isRefused: boolean;
  answered: number | undefined;
  cancelled: number | undefined;
}

/** Bytes that are kept until a message in them is complete. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * What clients sent in the records of a recording, and what the server did then. In a recording of a bridge, the server
 * is the bridge: what its clients saw. There may be none.
 *
 * A request without an answer is left out, because the recording ended too early. One that the client cancelled stays.
 *
 * @param whole whether the records end when the server had said all. Then a request without an answer stays.
 * @param onunread called for each message that is too large to be read.
 * @throws what reading the records throws.
 */
export async function callsOf(
  records: AsyncIterable<WireRecord>,
  whole = false,
  onunread = (): void => {},
): Promise<RecordedCall[]> {
  const calls = new Calls();
  const model = new WireModel(MAX_BYTES);
  for await (const record of records) {
    if (record.layer === 'open') calls.open(record);
    for (const event of model.add(record)) {
      calls.add(event, record.t, 'conn' in record ? record.conn : 0);
      if (event.on === 'unread') onunread();
    }
    if (record.layer === 'close') calls.close(record.conn, record.t);
  }
  return calls.all(whole);
}

/** Joins the messages of a recording. */
class Calls {
  readonly #connections = new Map<number, Pick<OpenRecord, 'protocol' | 'role'> & { readonly drafts: Draft[] }>();
  readonly #drafts: Draft[] = [];
  readonly #byMessage = new WeakMap<JsonObject, Draft>();
  readonly #byRequest = new Map<string, Draft>();
  readonly #questions = new Map<string, Step>();
  readonly #newest = new WeakMap<Conversation, Draft>();

  open({ conn, protocol, role }: OpenRecord): void {
    this.#connections.set(conn, { protocol, role, drafts: [] });
  }

  /** A client of 2026-07-28 closes a stream to cancel its call (transports/streamable-http: Cancellation). */
  close(conn: number, t: number): void {
    const { protocol, drafts = [] } = this.#connections.get(conn) ?? {};
    this.#connections.delete(conn);
    if (protocol !== 'http') return;
    for (const draft of drafts)
      if (draft.revisions.every((each) => profileOf(each)!.era === 'modern')) cancel(draft, t);
  }

  add({ on, event }: WireEvent, t: number, conn: number): void {
    if (on === 'response' && event.exchange.status >= 400)
      for (const { message } of event.exchange.messages) {
        const draft = this.#byMessage.get(message);
        if (draft) draft.isRefused = true;
      }
    if (on !== 'message' || !isValid(event.message)) return;
    if (event.from === 'client') this.#client(event, t, conn);
    else this.#server(event, t);
  }

  all(whole: boolean): RecordedCall[] {
    const isServer = this.#drafts.some(({ role }) => role === 'server');
    const sessions = new Map<Conversation, number>();
    return this.#drafts
      .filter(({ role }) => !isServer || role === 'server')
      .filter((draft) => whole || isWhole(draft))
      .map((draft) => {
        const session = sessions.get(draft.conversation) ?? sessions.size + 1;
        sessions.set(draft.conversation, session);
        return callOf(draft, session);
      });
  }

  #client(event: MessageEvent, t: number, conn: number): void {
    const { kind, message, about, conversation, records, revisions } = event;
    const n = records[0] ?? 0;
    if (kind === 'result' || kind === 'error') {
      const question = about && this.#questions.get(keyOf(about));
      if (question) question.answer = { t, response: message as Response };
      return;
    }
    const asked = about && this.#byRequest.get(keyOf(about));
    if (asked && event.method === NotificationMethod.Cancelled) cancel(asked, t);
    const connection = this.#connections.get(conn);
    const role = connection?.role ?? '';
    const draft: Draft = {
      ...{ n, t, role, revisions, conversation },
      message: message as Draft['message'],
      steps: [],
      isRefused: false,
      answered: undefined,
      cancelled: undefined,
    };
    this.#drafts.push(draft);
    connection?.drafts.push(draft);
    this.#byMessage.set(message, draft);
    this.#newest.set(conversation, draft);
    if (kind === 'request') this.#byRequest.set(keyOf({ n, id: message['id'] as RequestId }), draft);
  }

  #server(event: MessageEvent, t: number): void {
    const { kind, message, method, about, exchange, records } = event;
    if (kind === 'result' || kind === 'error') {
      const draft = about && this.#byRequest.get(keyOf(about));
      if (!draft) return;
      draft.answered ??= t;
      draft.steps.push({ message: message as Message, t, related: true, isOwn: true });
      return;
    }
    const owner = this.#ownerOf(event);
    const newest = this.#newest.get(event.conversation);
    // What a subscription announces follows from what the client did last, and not from the subscription.
    const announces = owner?.message.method === Method.Listen && method !== NotificationMethod.Acknowledged;
    const draft = announces ? newest : (owner ?? newest);
    if (!draft) return;
    const hasOwnStream = exchange === undefined || exchange.waiting.size > 0;
    const related = hasOwnStream && 'id' in draft.message && draft.answered === undefined;
    const subscription = announces && owner !== draft ? owner.n : undefined;
    const isOwn = (owner !== undefined && !announces) || (exchange === undefined && this.#isOnlyOpen(draft));
    const step: Step = { message: message as Message, t, related, isOwn, subscription };
    draft.steps.push(step);
    if (kind === 'request') this.#questions.set(keyOf({ n: records[0] ?? 0, id: message['id'] as RequestId }), step);
  }

  /** Whether a request is the only one of its conversation that waits for an answer. */
  #isOnlyOpen({ conversation, message, n, answered }: Draft): boolean {
    if (!('id' in message) || answered !== undefined) return false;
    let isOpen = false;
    for (const request of conversation.requests.client.open()) {
      if (request.method === Method.Listen) continue;
      if (isOpen || request.n !== n) return false;
      isOpen = true;
    }
    return isOpen;
  }

  /** The request that a message of the server certainly belongs to. */
  #ownerOf({ about, meta, exchange, conversation }: MessageEvent): Draft | undefined {
    const subscription: unknown = meta[Meta.SubscriptionId];
    const request =
      (about?.from === 'client' ? about : undefined) ??
      [...(exchange?.waiting ?? [])][0] ??
      (subscription === undefined ? undefined : conversation.requests.client.find(subscription));
    return request && this.#byRequest.get(keyOf(request));
  }
}

/** A receiver refuses any other message, so it is neither a call nor an answer. */
function isValid(message: JsonObject): boolean {
  try {
    checkMessage(message);
    return true;
  } catch {
    return false;
  }
}

/** Ids may be used again, in other sessions. A batch has several requests in one record. */
function keyOf({ n, id }: Pick<SeenRequest, 'n' | 'id'>): string {
  return `${n} ${JSON.stringify(id)}`;
}

function cancel(draft: Draft, t: number): void {
  if (draft.answered === undefined) draft.cancelled ??= t;
}

function isWhole({ message, isRefused, answered, cancelled }: Draft): boolean {
  if (answered !== undefined) return true;
  return !isRefused && (!('id' in message) || cancelled !== undefined || message.method === Method.Listen);
}

function callOf(draft: Draft, session: number): RecordedCall {
  const { n, t, message, revisions, conversation, steps, answered, cancelled } = draft;
  let before = t;
  const questions = [...steps.keys()]
    .filter((index) => steps[index]!.answer)
    .toSorted((one, other) => steps[one]!.answer!.t - steps[other]!.answer!.t);
  let next = 0;
  const found = steps.map((step): RecordedStep => {
    const { related, isOwn, subscription, answer } = step;
    const waitsFor: number[] = [];
    let newest = before;
    for (; next < questions.length && steps[questions[next]!]!.answer!.t <= step.t; next += 1) {
      waitsFor.push(questions[next]!);
      newest = Math.max(newest, steps[questions[next]!]!.answer!.t);
    }
    before = step.t;
    return {
      message: step.message,
      sent: step.t,
      related,
      isOwn,
      subscription,
      waitsFor,
      delay: Math.max(0, step.t - newest) / 1000,
      answer: answer?.response,
    };
  });
  const revision = revisions.length === 1 ? revisions[0]! : (conversation.revision ?? revisions.at(-1)!);
  return { n, revision, message, steps: found, session, sent: t, answered, cancelled };
}
