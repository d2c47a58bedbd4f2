import type { Message, Notification, Request, RequestId, Response } from '../jsonrpc/message.ts';
import type { AuthInfo } from '../protocol/types.ts';

/** What a message that is sent belongs to. */
export interface SendOptions {
  /** The incoming request that this outgoing request or notification belongs to. */
  readonly relatedRequestId?: RequestId | undefined;
}

/** What a transport knows about a message beside the message. */
export interface MessageExtra {
  /** Who the transport authenticated as the sender. */
  readonly principal?: string | undefined;
  /** What else is known of the sender, where it showed a credential. */
  readonly auth?: AuthInfo | undefined;
  /** The address at the other end of the connection, if the transport knows it: that of the client, or of a proxy. */
  readonly address?: string | undefined;
  /**
   * A header of the HTTP request that carried the message, by its name in lower case; credentials are not shown. Absent
   * over other transports.
   */
  readonly header?: ((name: string) => string | undefined) | undefined;
  /**
   * The request of the receiver's own on whose stream the message came, where the transport has such streams: what it
   * belongs to (2025-11-25, transports: Sending Messages, 6).
   */
  readonly relatedRequestId?: RequestId | undefined;
  /** How many bytes the message was on the wire; may be absent where that is not many. */
  readonly bytes?: number | undefined;
  /** Of an error response that the transport made itself, as the peer's own is lost: why. */
  readonly cause?: Error | undefined;
}

/**
 * The way back for one request that belongs to no session (2026-07-28, transports: Streamable HTTP). Nothing else goes
 * over it but notifications of that request, then its response.
 */
export interface ReplyChannel {
  /**
   * Sends a notification of the request; resolves when the reader can take more, or is gone.
   *
   * @throws (rejects) where it cannot be written as JSON, which is reported too.
   */
  notify(message: Notification): Promise<void>;
  /**
   * Answers the request and ends the channel.
   *
   * @param status of HTTP, where the answer is no stream yet. Default 200.
   * @throws at once where the response cannot be written as JSON; it can still be answered otherwise. A channel that
   * cannot tell at once sends an error in its place.
   */
  answer(response: Response, status?: number): void;
  /**
   * The caller cancelled the request, or went away before it was answered, which cancels it. Called at most once, with the
   * reason where one was given.
   */
  onclose: ((reason?: string) => void) | undefined;
}

/**
 * Takes a message that belongs to no session.
 *
 * @param reply where a request is answered; a notification has none.
 * @throws RpcError where a notification is refused.
 */
export type RequestListener = (
  message: Request | Notification,
  extra: MessageExtra,
  reply: ReplyChannel | undefined,
) => void;

/**
 * What `send` returns where there is nothing to wait for. A sender that knows it needs not watch a promise for each
 * message; a transport may return any other.
 */
export const TAKEN: Promise<void> = Promise.resolve();

/**
 * Carries messages between two peers and knows nothing else. The same shape as the official SDK's `Transport`, so
 * either side's transports serve the other's endpoints.
 *
 * The owner sets the callbacks, then calls `start` once; no message is delivered before that. Messages are delivered
 * one by one in the order in which they came; a batch is taken apart by the transport and its answers are put together
 * again, where the revision given to `setProtocolVersion` has batches, and refused elsewhere.
 *
 * `everwire/testing` has a suite that any implementation can run.
 */
export interface Transport {
  /**
   * Opens the connection and begins to deliver. Called once.
   *
   * @throws where it cannot be opened, was started before, or is closed.
   */
  start(): Promise<void>;
  /**
   * Sends one message; resolves when the transport has taken it, later where the reader is slow.
   *
   * @throws where the connection is closed or the message cannot be written as JSON.
   */
  send(message: Message, options?: SendOptions): Promise<void>;
  /** Closes the connection and releases all it holds. May be called more than once; `onclose` fires once. */
  close(): Promise<void>;
  /** Told by the owner when a revision has been negotiated. */
  setProtocolVersion?(version: string): void;

  /** A `Message` came; the second argument is `MessageExtra`, where anything is known beside it. */
  onmessage?: ((message: any, extra?: any) => void) | undefined;
  /** The connection is over, for whatever reason. Called once; nothing follows it. */
  onclose?: (() => void) | undefined;
  /**
   * The peer will send nothing more, but answers can still be sent to it: what was asked of it will not be answered.
   * Only for transports whose two directions end apart (stdio).
   */
  onend?: (() => void) | undefined;
  /** Something went wrong that no caller can be told of. Not fatal by itself. */
  onerror?: ((error: Error) => void) | undefined;

  /** The id of the session on the wire, where the transport has one. A secret: it opens the session to who has it. */
  readonly sessionId?: string | undefined;
}
