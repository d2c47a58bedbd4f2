import { ErrorCode } from './errors.ts';
import { InvalidMessage, InvalidResponse, checkMessage } from './parse.ts';
import { errorResponse, isRequest, isResponse, type Message, type RequestId, type Response } from './message.ts';

/** The parts of a batch: what to deliver, and what to answer at once. */
export interface OpenedBatch {
  readonly messages: Message[];
  /** The ids of the requests that still need a response. */
  readonly requests: RequestId[];
  /** Error responses to invalid elements. */
  readonly errors: Response[];
}

/**
 * Splits a JSON-RPC batch (JSON-RPC 2.0, section 6). Only revision 2025-03-26 has batches.
 *
 * @throws InvalidMessage if the batch is empty, or has more than `limit` elements.
 */
export function openBatch(elements: readonly unknown[], limit = 1000): OpenedBatch {
  if (elements.length === 0)
    throw new InvalidMessage(ErrorCode.InvalidRequest, 'Invalid request: a batch must not be empty');
  if (elements.length > limit) {
    throw new InvalidMessage(ErrorCode.InvalidRequest, `Invalid request: a batch may hold at most ${limit} messages`);
  }
  const messages: Message[] = [];
  // Ids can be long, and comparing each with all others would take seconds.
  const requests = new Set<RequestId>();
  const errors: Response[] = [];
  for (const element of elements) {
    try {
      const message = checkMessage(element);
      if (isRequest(message)) {
        if (requests.has(message.id)) {
          errors.push(
            errorResponse(undefined, {
              code: ErrorCode.InvalidRequest,
              message: `Invalid request: id ${JSON.stringify(message.id)} occurs twice in one batch`,
            }),
          );
          continue;
        }
        requests.add(message.id);
      }
      messages.push(message);
    } catch (error) {
      if (!(error instanceof InvalidMessage)) throw error;
      if (error instanceof InvalidResponse && error.failure) messages.push(error.failure);
      errors.push(errorResponse(error.id, error.toObject()));
    }
  }
  return { messages, requests: [...requests], errors };
}

interface Group {
  open: number;
  readonly responses: Response[];
}

/** Collects the responses to a batch until all are there, because a batch is answered by one batch. */
export class BatchAnswers {
  readonly #groups = new Map<Response['id'], Group>();

  add(batch: OpenedBatch): void {
    const group: Group = { open: batch.requests.length, responses: [...batch.errors] };
    for (const id of batch.requests) this.#groups.set(id, group);
  }

  /**
   * Returns what to send for an outgoing message: the message itself, nothing yet, or all responses of a completed batch.
   */
  take(message: Message): Message | Response[] | undefined {
    if (!isResponse(message)) return message;
    const group = this.#groups.get(message.id);
    if (!group) return message;
    group.responses.push(message);
    return this.#close(message.id, group);
  }

  /** Removes a cancelled request, which gets no response. Returns the batch's responses if it is now complete. */
  abandon(id: RequestId): Response[] | undefined {
    const group = this.#groups.get(id);
    return group && this.#close(id, group);
  }

  #close(id: Response['id'], group: Group): Response[] | undefined {
    this.#groups.delete(id);
    group.open -= 1;
    return group.open === 0 && group.responses.length > 0 ? group.responses : undefined;
  }
}
