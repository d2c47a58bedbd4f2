import { shortJson } from '../base/short-text.ts';
import { ErrorCode } from './errors.ts';
import { InvalidMessage, InvalidResponse, checkMessage } from './parse.ts';
import { errorResponse, isRequest, isResponse, type Message, type RequestId, type Response } from './message.ts';
import { weightOf } from './weight.ts';

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
              message: `Invalid request: id ${shortJson(message.id)} occurs twice in one batch`,
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

/** The most memory of the responses that wait for others, in bytes (estimated). */
const MAX_HELD = 1024 * 1024;

interface Group {
  open: number;
  responses: Response[];
  /** The memory of the responses. */
  size: number;
}

/**
 * Collects the responses to a batch until all are there, because a batch is answered by one batch. Above a limit, the
 * responses that are there are sent as a batch of their own: a peer may never let the last one happen.
 */
export class BatchAnswers {
  readonly #groups = new Map<Response['id'], Group>();
  /** The memory of all responses that wait. */
  #held = 0;

  /** Returns what to send at once: the errors, if no response will follow or if they are too large to wait. */
  add({ requests, errors }: OpenedBatch): Response[] | undefined {
    const group: Group = { open: requests.length, responses: [], size: 0 };
    for (const id of requests) this.#groups.set(id, group);
    return this.#hold(group, errors);
  }

  /**
   * Returns what to send for an outgoing message: the message itself, nothing yet, or the responses of a batch.
   */
  take(message: Message): Message | Response[] | undefined {
    if (!isResponse(message)) return message;
    const group = this.#groups.get(message.id);
    if (!group) return message;
    this.#groups.delete(message.id);
    group.open -= 1;
    return this.#hold(group, [message]);
  }

  /**
   * Removes a cancelled request, which gets no response. Returns the batch's responses if it is now complete.
   *
   * @param id undefined if no request was cancelled.
   */
  abandon(id: RequestId | undefined): Response[] | undefined {
    const group = this.#groups.get(id);
    if (!group) return undefined;
    this.#groups.delete(id);
    group.open -= 1;
    return this.#hold(group, []);
  }

  /** Adds responses to a batch. Returns its responses if they need not or must not wait. */
  #hold(group: Group, responses: readonly Response[]): Response[] | undefined {
    group.responses.push(...responses);
    // Stryker disable next-line ConditionalExpression: the weight of no responses is a few bytes
    const size = responses.length === 0 ? 0 : weightOf(responses, MAX_HELD);
    group.size += size;
    this.#held += size;
    // Stryker disable next-line EqualityOperator: the weight is an estimate
    if (group.open > 0 && this.#held <= MAX_HELD) return undefined;
    const ready = group.responses;
    this.#held -= group.size;
    group.responses = [];
    group.size = 0;
    return ready.length > 0 ? ready : undefined;
  }
}
