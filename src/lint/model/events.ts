import type { JsonObject } from '../../jsonrpc/message.ts';
import type { Revision } from '../../protocol/revisions.ts';
import type { RevisionSchema } from '../schemas/revision-schema.ts';
import type { Carriage, Conversation, Phase, SeenEvent } from './conversation.ts';
import type { EventFrame } from './event-frame.ts';
import type { Exchange } from './exchange.ts';
import type { SeenRequest, Side } from './requests.ts';
import type { SeenTask } from './seen-tasks.ts';

/** What every event has. */
export interface WireEventBase {
  /** The numbers of the records that show it, the most telling one first. */
  readonly records: readonly number[];
  /**
   * The revisions that may have been negotiated. A rule applies if it holds in all of them. Several if it is not known
   * which one it is.
   */
  readonly revisions: readonly Revision[];
}

/** A JSON-RPC message: on its own, or as a member of a batch. */
export interface MessageEvent extends WireEventBase {
  readonly kind: 'request' | 'notification' | 'result' | 'error';
  readonly from: Side;
  readonly message: JsonObject;
  /** The method of a request or notification. Empty for answers. */
  readonly method: string;
  /** Its `params`, or an empty object. */
  readonly params: JsonObject;
  /** The `_meta` of its params or result, or an empty object. */
  readonly meta: JsonObject;
  /** The `result` of a result, or an empty object. */
  readonly result: JsonObject;
  /** The `error` of an error, or an empty object. */
  readonly error: JsonObject;
  readonly conversation: Conversation;
  readonly carriage: Carriage;
  /** How far the handshake had come before this message. */
  readonly phase: Phase;
  /** For HTTP. */
  readonly exchange: Exchange | undefined;
  readonly inBatch: boolean;
  /**
   * The request that it is about: the one that an answer answers, whose token progress has, or that is cancelled.
   * Undefined if there is none, or if it is not known.
   */
  readonly about: SeenRequest | undefined;
  /** What was known about `about` before this message. */
  readonly before: { readonly answered: number | undefined; readonly progress: number | undefined } | undefined;
  /** Whether `about` would be known if it existed. */
  readonly knowsAll: boolean;
  /** For a request: an earlier request of the same sender with the same id, or with the same token. */
  readonly sameId: SeenRequest | undefined;
  readonly sameToken: SeenRequest | undefined;
  /** Whether all requests of its HTTP exchange were answered before this message of the server. */
  readonly isAfterAnswer: boolean;
  /** The subscription that a notification of 2026-07-28 names. */
  readonly subscription: SeenRequest | undefined;
  /** The state of a task that it has. */
  readonly task: { readonly taskId: string; readonly status: string } | undefined;
  /** The task that it is about, as it was known before. */
  readonly taskBefore: SeenTask | undefined;
  /** The names of tools in the list before, if that is known. */
  readonly toolOrderBefore: readonly string[] | undefined;
  /** The capabilities of the client. Undefined if they are not known. */
  readonly clientCapabilities: JsonObject | undefined;
  /** The schema of the revision. Undefined if the revision is not certain. */
  schema?: RevisionSchema | undefined;
}

/** A text where a message should be, which is none. */
export interface MalformedEvent extends WireEventBase {
  readonly from: Side;
  readonly carriage: Carriage;
  /** Why it cannot be read. `not a message`: other text on stdio. */
  readonly problem: 'not UTF-8' | 'not JSON' | 'not a message';
  /** The text, cut. */
  readonly text: string;
}

/** A message of which nothing is known, because it is too large to be read. */
export interface UnreadEvent extends WireEventBase {
  readonly from: Side;
}

/** A JSON array of messages. Its messages follow as events of their own. */
export interface BatchEvent extends WireEventBase {
  readonly from: Side;
  readonly carriage: Carriage;
  readonly messages: readonly unknown[];
  readonly exchange: Exchange | undefined;
}

/** A line of stdio, whatever it is. */
export interface LineEvent extends WireEventBase {
  readonly from: Side;
  readonly text: string;
  readonly note: string | undefined;
}

/** An HTTP request, a response, or an exchange that has ended. */
export interface ExchangeEvent extends WireEventBase {
  readonly exchange: Exchange;
  readonly conversation: Conversation;
}

/** A frame of an event stream. */
export interface FrameEvent extends ExchangeEvent {
  readonly frame: EventFrame;
  /** An earlier event with the same id in the session. */
  readonly earlier: SeenEvent | undefined;
  readonly isFirst: boolean;
  readonly isCutOff: boolean;
}

/** The events that rules judge. */
export interface WireEvents {
  message: MessageEvent;
  malformed: MalformedEvent;
  unread: UnreadEvent;
  batch: BatchEvent;
  line: LineEvent;
  /** An HTTP request. Its messages follow as events of their own. */
  request: ExchangeEvent;
  /** The head of an HTTP response. */
  response: ExchangeEvent;
  /** An HTTP response has ended, or its connection was closed. */
  exchange: ExchangeEvent;
  frame: FrameEvent;
}

/** An event with its kind. */
export type WireEvent = {
  [Kind in keyof WireEvents]: { readonly on: Kind; readonly event: WireEvents[Kind] };
}[keyof WireEvents];
