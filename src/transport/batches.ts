import { shortJson } from '../base/short-text.ts';
import { openBatch, type OpenedBatch } from '../jsonrpc/batch.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import {
  errorResponse,
  isObject,
  isRequest,
  type Message,
  type Request,
  type RequestId,
  type Response,
} from '../jsonrpc/message.ts';
import { invalidRequest, type InvalidMessage } from '../jsonrpc/parse.ts';
import type { RevisionProfile } from '../protocol/revisions.ts';

/** The most characters of all ids in one body. An event log may write the ids of all open requests again with each event. */
const MAX_IDS = 65_536;

export interface BatchRules {
  /** The profile of the negotiated revision. Undefined before negotiation. */
  readonly profile: RevisionProfile | undefined;
  /** Whether a request with this id is in flight. */
  readonly inUse: (id: RequestId) => boolean;
  /** Whether invalid elements without a usable id are answered with an error. Default true. */
  readonly answerInvalid?: boolean;
  /** Called for each element that is not delivered. */
  readonly refused?: (error: RpcError) => void;
}

/**
 * Splits a batch and removes what cannot be delivered, in the same way on every transport: invalid messages, ids that
 * are in use, and `initialize`. Each of them gets an error. The error has the id of the element only if it cannot be taken
 * for the response to another request.
 *
 * @throws InvalidMessage if the whole batch is refused: in a revision without batches (only 2025-03-26 has them, basic:
 * Batching), or if it is empty or too large.
 */
export function admitBatch(elements: readonly unknown[], rules: BatchRules): OpenedBatch {
  const { profile, inUse, answerInvalid = true, refused } = rules;
  if (!profile?.batches) {
    const spoken = profile ? `this connection speaks ${profile.revision}` : 'no revision has been negotiated yet';
    throw invalidRequest(`batches exist only in revision 2025-03-26; ${spoken}`);
  }
  const opened = openBatch(elements);
  const requested = new Set(opened.requests);
  const isTaken = (id: RequestId): boolean => inUse(id) || requested.has(id);
  const admitted: OpenedBatch = { messages: [], requests: [], errors: [] };
  for (const response of opened.errors) {
    if ('error' in response) refused?.(RpcError.fromObject(response.error));
    const answer = withoutIdInUse(response, isTaken);
    if (answerInvalid || answer.id !== undefined) admitted.errors.push(answer);
  }
  for (const message of opened.messages) {
    if (isRequest(message)) {
      const error = refusal(message, inUse);
      if (error) {
        admitted.errors.push(errorResponse(error.id, error.toObject()));
        refused?.(error);
        continue;
      }
      admitted.requests.push(message.id);
    }
    admitted.messages.push(message);
  }
  return admitted;
}

/**
 * Checks the ids of a message, or of the unchecked elements of a batch.
 *
 * @throws InvalidMessage without an id, because that may be the one that is too long.
 */
export function checkIds(body: Message | readonly unknown[]): void {
  let length = 0;
  for (const element of 'jsonrpc' in body ? [body] : body)
    if (isObject(element) && typeof element['id'] === 'string') length += element['id'].length;
  if (length > MAX_IDS) throw invalidRequest(`the ids of one body may have at most ${MAX_IDS} characters together`);
}

/**
 * Refuses a request whose id is already in flight. This error has no id, because the client would take an error with
 * the id for the response to the other request.
 */
export function idInUse(id: RequestId): InvalidMessage {
  return invalidRequest(`id ${shortJson(id)} is still in use`);
}

function refusal({ id, method }: Request, inUse: (id: RequestId) => boolean): InvalidMessage | undefined {
  if (inUse(id)) return idInUse(id);
  // 2025-03-26, basic/lifecycle: Initialization.
  return method === 'initialize' ? invalidRequest('initialize must not be part of a batch', id) : undefined;
}

function withoutIdInUse(response: Response, isTaken: (id: RequestId) => boolean): Response {
  if (response.id === undefined || !isTaken(response.id)) return response;
  return 'error' in response ? errorResponse(undefined, response.error) : response;
}
