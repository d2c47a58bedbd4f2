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
  /** Sends the server the error that answers what it meant as a request. Default: it is not told. */
  readonly answer?: (response: Response) => void;
}

/** The owner need not be told how large such a message was. Bytes. */
const SMALL = 4096;

/** Makes messages of the JSON texts of a server. Batches are taken apart, in the revision that has them. */
export class Incoming {
  /** Of the negotiated revision; undefined until there is one. */
  profile: RevisionProfile | undefined;
  readonly #options: IncomingOptions;
  /** Of the server: an error under such an id would be taken for the answer to that request. */
  readonly #inFlight = new InFlight();

  constructor(options: IncomingOptions) {
    this.#options = options;
  }

  /** Notes what goes out: an answer settles the request of the server. */
  sending(message: Message): void {
    this.#inFlight.settle(message);
  }

  /**
   * Delivers what is in a text, and reports what is none. What can only have been meant as a request is answered with
   * −32600 under its id (JSON-RPC 2.0, section 5): its caller would wait for ever.
   *
   * @param asked the request whose response the text came with: what is in it belongs to it, and an error that names no
   * request is its answer.
   */
  take(text: string, asked?: RequestId): void {
    const { report } = this.#options;
    try {
      const value = parseJson(text);
      if (!Array.isArray(value)) return this.#deliver(checkMessage(value), text.length, asked);
      // Before a revision is negotiated nothing is known of what the server has.
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
      // An answer that is none is still all that comes.
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
