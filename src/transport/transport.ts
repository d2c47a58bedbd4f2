import type { Message, Notification, Request, RequestId, Response } from '../jsonrpc/message.ts';
import type { AuthInfo } from '../protocol/types.ts';

/** What an outgoing message belongs to. */
export interface SendOptions {
  /** The incoming request that this outgoing request or notification belongs to. */
  readonly relatedRequestId?: RequestId | undefined;
  /** The HTTP status of an error response, if the response is not a stream yet. Default 200. */
  readonly status?: number | undefined;
}

/** Information about a message that is not part of the message. */
export interface MessageExtra {
  /** The authenticated sender. */
  readonly principal?: string | undefined;
  /** Further data about the sender, if it sent a credential. */
  readonly auth?: AuthInfo | undefined;
  /** The address at the other end of the connection, if the transport knows it: that of the client, or of a proxy. */
  readonly address?: string | undefined;
  /**
   * A header of the HTTP request that carried the message, by its lower-case name. Credentials are hidden. Absent on
   * other transports.
   */
  readonly header?: ((name: string) => string | undefined) | undefined;
  /**
   * The receiver's own request on whose stream the message came, if the transport has such streams. The message belongs
   * to that request (2025-11-25, transports: Sending Messages, 6).
   */
  readonly relatedRequestId?: RequestId | undefined;
  /** The size of the message on the wire in bytes. May be absent for small messages. */
  readonly bytes?: number | undefined;
  /** For an error response that the transport made itself: why the peer's own response was lost. */
  readonly cause?: Error | undefined;
}

/**
 * Sends the replies to one request without a session (2026-07-28, transports: Streamable HTTP): notifications of that
 * request, then its response.
 */
export interface ReplyChannel {
  /**
   * Sends a notification of the request. Resolves when the reader can take more, or is gone.
   *
   * @throws (rejects) if it cannot be written as JSON, which is also reported.
   */
  notify(message: Notification): Promise<void>;
  /**
   * Answers the request and ends the channel.
   *
   * @param status the HTTP status, if the response is not a stream yet. Default 200.
   * @throws at once if the response cannot be written as JSON. The request can still get another response. A channel
   * that cannot detect this at once sends an error instead.
   */
  answer(response: Response, status?: number): void;
  /**
   * The caller cancelled the request, or disconnected before the response, which also cancels it. Called at most once,
   * with the reason if one was given.
   */
  onclose: ((reason?: string) => void) | undefined;
}

/**
 * Handles a message that belongs to no session.
 *
 * @param reply sends the replies to a request. Undefined for a notification.
 * @throws RpcError if a notification is refused.
 */
export type RequestListener = (
  message: Request | Notification,
  extra: MessageExtra,
  reply: ReplyChannel | undefined,
) => void;

/**
 * Returned by `send` if there is nothing to wait for. A sender that compares with it need not attach a callback to each
 * promise. A transport may return any other promise.
 */
export const SENT_AT_ONCE: Promise<void> = Promise.resolve();

/**
 * Carries messages between two peers and does not interpret them. It has the shape of the official SDK's `Transport`,
 * so each SDK can use the other's transports.
 *
 * The owner sets the callbacks, then calls `start` once. No message is delivered before that. Messages are delivered
 * one by one, in order. If the revision given to `setProtocolVersion` has batches, the transport splits a batch and
 * joins its responses again. In other revisions it refuses batches.
 *
 * `everwire/testing/contracts` has a suite that any implementation can run.
 */
export interface Transport {
  /**
   * Opens the connection and begins to deliver. Called once.
   *
   * @throws if it cannot be opened, was started before, or is closed.
   */
  start(): Promise<void>;
  /**
   * Sends one message. Resolves when the transport has accepted it; later if the reader is slow.
   *
   * @throws if the connection is closed or the message cannot be written as JSON.
   */
  send(message: Message, options?: SendOptions): Promise<void>;
  /** Closes the connection and releases everything it holds. May be called more than once. `onclose` fires once. */
  close(): Promise<void>;
  /** Called by the owner when a revision has been negotiated. */
  setProtocolVersion?(version: string): void;

  /** Called with a `Message`. The second argument is a `MessageExtra`, if anything more is known. */
  onmessage?: ((message: any, extra?: any) => void) | undefined;
  /** Called once when the connection has closed, for any reason. No other callback follows. */
  onclose?: (() => void) | undefined;
  /**
   * The peer sends nothing more, but can still receive responses. Open questions to it will not be answered. Only for
   * transports whose two directions end separately (stdio).
   */
  onend?: (() => void) | undefined;
  /** Called with an error that cannot be reported to a caller. The connection may continue. */
  onerror?: ((error: Error) => void) | undefined;

  /** Why the connection closed, if the transport knows. Calls in flight fail with it. */
  readonly closeReason?: Error | undefined;
  /** The session id on the wire, if the transport has one. It is a secret: anyone who has it can use the session. */
  readonly sessionId?: string | undefined;
  /**
   * Names the session at all processes that use the same state. Not a secret. Undefined if no other process can have the
   * session.
   */
  readonly sharedId?: string | undefined;
  /**
   * Whether another process opened the session, and the `initialize` that arrives is a repetition. With a `sharedId`, that
   * process may still use it. Without, it has ended, and the lists may have changed since the client last heard of them.
   */
  readonly revived?: boolean | undefined;
  /** Whether the peer reads messages that belong to no request. Undefined if it always does. */
  readonly listensOutsideRequests?: boolean | undefined;
  /** Whether the session has ended at all processes, and not only at this one. Set before `onclose` is called. */
  readonly endedEverywhere?: boolean | undefined;
}
