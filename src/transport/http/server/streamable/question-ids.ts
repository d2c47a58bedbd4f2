import { isRequest, isResponse, type Message, type RequestId } from '../../../../jsonrpc/message.ts';
import { NotificationMethod } from '../../../../protocol/methods.ts';

/**
 * Makes the ids of a session's questions unlike those of other processes, which ask the same client. An answer that
 * reaches the wrong process is then known to be another one's.
 */
export class QuestionIds {
  readonly #prefix: string;

  /** @param prefix of the ids. */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** A message to the client. */
  outward<M extends Message>(message: M): M {
    if (isRequest(message)) return { ...message, id: this.#written(message.id) };
    if (!('method' in message) || message.method !== NotificationMethod.Cancelled) return message;
    const { requestId } = message.params ?? {};
    if (typeof requestId !== 'string' && typeof requestId !== 'number') return message;
    return { ...message, params: { ...message.params, requestId: this.#written(requestId) } };
  }

  /** A message from the client. */
  inward(message: Message): Message {
    if (!isResponse(message) || typeof message.id !== 'string' || !message.id.startsWith(this.#prefix)) return message;
    const text = message.id.slice(this.#prefix.length);
    return { ...message, id: text.startsWith('n') ? Number(text.slice(1)) : text.slice(1) };
  }

  #written(id: RequestId): string {
    return `${this.#prefix}${typeof id === 'number' ? 'n' : 's'}${id}`;
  }
}
