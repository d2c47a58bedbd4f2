import {
  isObject,
  isRequest,
  isResponse,
  type JsonObject,
  type Message,
  type RequestId,
} from '../../../../jsonrpc/message.ts';
import { Meta, NotificationMethod } from '../../../../protocol/methods.ts';
import type { NodeId } from '../../../../store/bus.ts';

/** The process that has made the id or progress token of a question. Undefined if it is not known. */
export function askerOf(id: unknown): NodeId | undefined {
  if (typeof id !== 'string') return undefined;
  const [, asker] = /^[0-9a-f]{10}x([0-9a-z]+)xn-?\d+$/.exec(id) ?? /^[0-9a-f]{10}x([0-9a-z]+?)xs/.exec(id) ?? [];
  return asker;
}

/**
 * Makes the ids and progress tokens of a session's questions unlike those of other processes, which ask the same client.
 * They say which process asks, so an answer that reaches another one can be passed on.
 */
export class QuestionIds {
  readonly #prefix: string;

  /** @param prefix of the ids. */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** A message to the client. */
  outward<M extends Message>(message: M): M {
    if (isRequest(message)) {
      const meta: unknown = message.params?.['_meta'];
      const token: unknown = isObject(meta) ? meta[Meta.ProgressToken] : undefined;
      const id = this.#written(message.id);
      if (!isId(token)) return { ...message, id };
      const progressing = { ...(meta as JsonObject), [Meta.ProgressToken]: this.#written(token) };
      return { ...message, id, params: { ...message.params, _meta: progressing } };
    }
    if (!('method' in message) || message.method !== NotificationMethod.Cancelled) return message;
    const { requestId } = message.params ?? {};
    if (!isId(requestId)) return message;
    return { ...message, params: { ...message.params, requestId: this.#written(requestId) } };
  }

  /** A message from the client. */
  inward(message: Message): Message {
    if (isResponse(message)) {
      const id = this.#read(message.id);
      return id === undefined ? message : { ...message, id };
    }
    if (message.method !== NotificationMethod.Progress) return message;
    const token = this.#read(message.params?.['progressToken']);
    return token === undefined ? message : { ...message, params: { ...message.params, progressToken: token } };
  }

  #written(id: RequestId): string {
    return `${this.#prefix}${typeof id === 'number' ? 'n' : 's'}${id}`;
  }

  /** Undefined if another process has written it, or none. */
  #read(id: unknown): RequestId | undefined {
    if (typeof id !== 'string' || !id.startsWith(this.#prefix)) return undefined;
    const text = id.slice(this.#prefix.length);
    return text.startsWith('n') ? Number(text.slice(1)) : text.slice(1);
  }
}

function isId(value: unknown): value is RequestId {
  return typeof value === 'string' || typeof value === 'number';
}
