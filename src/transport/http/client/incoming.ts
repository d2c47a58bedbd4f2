import { openBatch } from '../../../jsonrpc/batch.ts';
import {
  errorResponse,
  isRequest,
  isResponse,
  type Message,
  type RequestId,
  type Response,
} from '../../../jsonrpc/message.ts';
import { checkMessage, InvalidMessage, invalidRequest, parseJson } from '../../../jsonrpc/parse.ts';
import { RpcError } from '../../../jsonrpc/errors.ts';
import type { RevisionProfile } from '../../../protocol/revisions.ts';
import { InFlight } from '../../in-flight.ts';
import type { MessageExtra } from '../../transport.ts';

export interface IncomingOptions {
  readonly deliver: (message: Message, extra: MessageExtra | undefined) => void;
  readonly report: (error: Error) => void;
  /** Sends the server an error in response to an invalid request. Default: it gets none. */
  readonly answer?: (response: Response) => void;
}

/** The size of smaller messages is not reported. Bytes. */
const SMALL = 4096;

/** Parses the JSON texts of a server into messages. Splits batches in the revision that has them. */
export class Incoming {
  /** The profile of the negotiated revision. Undefined before negotiation. */
  profile: RevisionProfile | undefined;
  readonly #options: IncomingOptions;
  /** The server's requests. An error with such an id would be taken for the response to that request. */
  readonly #inFlight = new InFlight();

  constructor(options: IncomingOptions) {
    this.#options = options;
  }

  /** Reads an outgoing message. A response settles the server's request. */
  sending(message: Message): void {
    this.#inFlight.settle(message);
  }

  /**
   * Delivers the messages in a text, and reports invalid ones. An invalid request is answered with −32600 under its id
   * (JSON-RPC 2.0, section 5), because its caller would otherwise wait without end.
   *
   * @param asked the request whose response contained the text. Its messages belong to that request, and an error
   * without an id answers it.
   */
  take(text: string, asked?: RequestId): void {
    const { report } = this.#options;
    try {
      const value = parseJson(text);
      if (!Array.isArray(value)) return this.#deliver(checkMessage(value), text.length, asked);
      // Before negotiation, nothing is known of the server's revision.
      if (this.profile && !this.profile.batches) {
        throw invalidRequest(
          `batches exist only in revision 2025-03-26, this connection speaks ${this.profile.revision}`,
        );
      }
      const { messages, errors } = openBatch(value);
      for (const each of errors) {
        if ('error' in each) report(RpcError.fromObject(each.error));
        if (!messages.some((message) => isRequest(message) && message.id === each.id)) this.#answer(each);
      }
      for (const message of messages) this.#deliver(message, text.length / messages.length, asked);
    } catch (error) {
      if (!(error instanceof InvalidMessage)) throw error;
      report(error);
      // The response is malformed, but no other will come: fail the request.
      if (error.failure) this.#deliver(error.failure, text.length, asked);
      else this.#answer(errorResponse(error.id, error.toObject()));
    }
  }

  #answer(response: Response): void {
    if (response.id !== undefined && !this.#inFlight.has(response.id)) this.#options.answer?.(response);
  }

  #deliver(message: Message, length: number, asked: RequestId | undefined): void {
    const unnamed = asked !== undefined && isResponse(message) && message.id === undefined && 'error' in message;
    const named: Message | Response = unnamed ? errorResponse(asked, message.error) : message;
    this.#inFlight.add(message);
    this.#options.deliver(named, extraOf(length, isResponse(message) ? undefined : asked));
  }
}

function extraOf(bytes: number, relatedRequestId: RequestId | undefined): MessageExtra | undefined {
  if (relatedRequestId !== undefined) return { relatedRequestId, bytes };
  return bytes > SMALL ? { bytes } : undefined;
}
