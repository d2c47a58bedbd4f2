import { openBatch } from '../../../jsonrpc/batch.ts';
import { errorResponse, isResponse, type Message, type RequestId, type Response } from '../../../jsonrpc/message.ts';
import { checkMessage, InvalidMessage, invalidRequest, parseJson } from '../../../jsonrpc/parse.ts';
import { RpcError } from '../../../jsonrpc/errors.ts';
import type { RevisionProfile } from '../../../protocol/revisions.ts';
import { InFlight } from '../../in-flight.ts';
import type { MessageExtra } from '../../transport.ts';

export interface IncomingOptions {
  readonly deliver: (message: Message, extra: MessageExtra | undefined) => void;
  readonly report: (error: Error) => void;
  /** Sends the server an error in response to an invalid request. Default: invalid requests get no response. */
  readonly answer?: (response: Response) => void;
}

/** The size of a smaller message is not reported. Bytes. */
const SMALL = 4096;

/** Parses the JSON texts of a server into messages. Splits batches in the revision that has them. */
export class Incoming {
  /** The profile of the negotiated revision. Undefined before negotiation. */
  profile: RevisionProfile | undefined;
  readonly #options: IncomingOptions;
  /**
   * The server's requests in flight. The server would take an error with one of their ids for the response to that
   * request.
   */
  readonly #inFlight = new InFlight();

  constructor(options: IncomingOptions) {
    this.#options = options;
  }

  /** Called with each outgoing message. A response settles the server's request. */
  sending(message: Message): void {
    this.#inFlight.settle(message);
  }

  /**
   * Delivers the messages in a text, and reports invalid ones. An invalid request gets an error −32600 with its id
   * (JSON-RPC 2.0, section 5), because its sender would otherwise wait forever.
   *
   * @param requestId the request whose response contained the text. The messages belong to that request, and an error
   * without an id answers it.
   */
  receive(text: string, requestId?: RequestId): void {
    const { report } = this.#options;
    try {
      const value = parseJson(text);
      if (!Array.isArray(value)) return this.#deliver(checkMessage(value), text.length, requestId);
      // Before negotiation, the server's revision is unknown.
      if (this.profile && !this.profile.batches) {
        throw invalidRequest(
          `batches exist only in revision 2025-03-26; this connection speaks ${this.profile.revision}`,
        );
      }
      const { messages, requests, errors } = openBatch(value);
      const requested = new Set<RequestId | undefined>(requests);
      for (const each of errors) {
        if ('error' in each) report(RpcError.fromObject(each.error));
        if (!requested.has(each.id)) this.#answer(each);
      }
      for (const message of messages) this.#deliver(message, text.length / messages.length, requestId);
    } catch (error) {
      if (!(error instanceof InvalidMessage)) throw error;
      report(error);
      // The response is malformed, but no other will come: fail the request.
      if (error.failure) this.#deliver(error.failure, text.length, requestId);
      else this.#answer(errorResponse(error.id, error.toObject()));
    }
  }

  #answer(response: Response): void {
    if (response.id !== undefined && !this.#inFlight.has(response.id)) this.#options.answer?.(response);
  }

  #deliver(message: Message, length: number, requestId: RequestId | undefined): void {
    const lacksId = requestId !== undefined && isResponse(message) && message.id === undefined && 'error' in message;
    const withId: Message | Response = lacksId ? errorResponse(requestId, message.error) : message;
    this.#inFlight.add(message);
    this.#options.deliver(withId, extraOf(length, isResponse(message) ? undefined : requestId));
  }
}

function extraOf(bytes: number, relatedRequestId: RequestId | undefined): MessageExtra | undefined {
  if (relatedRequestId !== undefined) return { relatedRequestId, bytes };
  return bytes > SMALL ? { bytes } : undefined;
}
