import type { Message, Notification, Request, Response } from '../jsonrpc/message.ts';
import type { Revision } from '../protocol/revisions.ts';

/** A message that the recorded server sent after a message of its client. */
export interface RecordedStep {
  readonly message: Message;
  /** When it was sent, in microseconds since the recording began. */
  readonly sent: number;
  /** Milliseconds after the step before it, or after the newest answer that it waits for. */
  readonly delay: number;
  /** The earlier steps that are questions, and that the client had answered before this step. */
  readonly waitsFor: readonly number[];
  /** Whether it was sent on the stream of the request. */
  readonly related: boolean;
  /** Whether it certainly belongs to the request. */
  readonly isOwn: boolean;
  /** For a notification of a subscription: the number of the `subscriptions/listen` that it belongs to. */
  readonly subscription?: number | undefined;
  /** What the client answered, if it is a question that was answered. */
  readonly answer?: Response | undefined;
}

/** A message that a client sent in a recording, and what the server did then. */
export interface RecordedCall {
  /** The number of its record. */
  readonly n: number;
  /** The revision that the client and the server had negotiated. */
  readonly revision: Revision;
  readonly message: Request | Notification;
  readonly steps: readonly RecordedStep[];
  /** Its session, counted from 1: what belongs together without a session is one, too. */
  readonly session: number;
  /** When it was sent, answered and cancelled, in microseconds since the recording began. */
  readonly sent: number;
  readonly answered: number | undefined;
  readonly cancelled: number | undefined;
}
