import { openBatch } from '../../../jsonrpc/batch.ts';
import { errorResponse, isResponse, type Message, type RequestId, type Response } from '../../../jsonrpc/message.ts';
import { checkMessage, InvalidMessage, invalidRequest, parseJson } from '../../../jsonrpc/parse.ts';
import { RpcError } from '../../../jsonrpc/errors.ts';
import type { RevisionProfile } from '../../../protocol/revisions.ts';
import type { MessageExtra } from '../../transport.ts';

export interface IncomingOptions {
  readonly deliver: (message: Message, extra: MessageExtra | undefined) => void;
  readonly report: (error: Error) => void;
}

/** The owner need not be told how large such a message was. Bytes. */
const SMALL = 4096;

/** Makes messages of the JSON texts of a server. Batches are taken apart, in the revision that has them. */
export class Incoming {
  /** Of the negotiated revision; undefined until there is one. */
  profile: RevisionProfile | undefined;
  readonly #options: IncomingOptions;

  constructor(options: IncomingOptions) {
    this.#options = options;
  }

  /**
   * Delivers what is in a text, and reports what is none.
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
      for (const each of errors) if ('error' in each) report(RpcError.fromObject(each.error));
      for (const message of messages) this.#deliver(message, text.length / messages.length, asked);
    } catch (error) {
      if (!(error instanceof InvalidMessage)) throw error;
      report(error);
      // An answer that is none is still all that comes.
      if (error.failure) this.#deliver(error.failure, text.length, asked);
    }
  }

  #deliver(message: Message, length: number, asked: RequestId | undefined): void {
    const unnamed = asked !== undefined && isResponse(message) && message.id === undefined && 'error' in message;
    const named: Message | Response = unnamed ? errorResponse(asked, message.error) : message;
    this.#options.deliver(named, extraOf(length, isResponse(message) ? undefined : asked));
  }
}

function extraOf(bytes: number, relatedRequestId: RequestId | undefined): MessageExtra | undefined {
  if (relatedRequestId !== undefined) return { relatedRequestId, bytes };
  return bytes > SMALL ? { bytes } : undefined;
}
