import { jsonIn } from '../../jsonrpc/json-in.ts';
import { isObject, isRequestId, type JsonObject, type RequestId } from '../../jsonrpc/message.ts';
import { Meta, Method, NotificationMethod } from '../../protocol/methods.ts';
import type { SpanRecord } from './span.ts';

/** What spans need to know about a message. */
export interface MessageFacts {
  readonly kind: string;
  readonly id?: RequestId | undefined;
  readonly method?: string | undefined;
  readonly tool?: string | undefined;
  /** The token of the request, or of the progress. */
  readonly progressToken?: RequestId | undefined;
  /** The request that a notification is about: the one that is cancelled, or a `subscriptions/listen`. */
  readonly about?: RequestId | undefined;
  /** Whether a result asks for input, or a request brings it (2026-07-28, basic/patterns/mrtr). */
  readonly input?: boolean;
  readonly requestState?: string | undefined;
}

/** Words of messages that must be parsed. `factsOf` knows the others that must be parsed by their method or kind. */
const WORDS = ['progressToken', 'subscriptionId', 'input_required', 'inputResponses', 'requestState'];

/** The facts of a message, or of each message of a batch. */
export function factsOf(record: SpanRecord, text: () => string | undefined): readonly MessageFacts[] {
  const { kind = '', id, method } = record;
  const known: MessageFacts = { kind, id, method };
  const content = text();
  if (content === undefined) return kind === 'batch' ? [] : [known];
  const matters =
    kind === 'batch' ||
    method === Method.CallTool ||
    method === NotificationMethod.Cancelled ||
    (id === undefined && kind !== 'notification') ||
    WORDS.some((word) => content.includes(word));
  if (!matters) return [known];
  const value = jsonIn(content);
  if (value === undefined) return kind === 'batch' ? [] : [known];
  if (Array.isArray(value)) return value.filter(isObject).map(messageFacts);
  return isObject(value) ? [messageFacts(value)] : [known];
}

function messageFacts({ id, method, params, result, error }: JsonObject): MessageFacts {
  const ids = { id: isRequestId(id) ? id : undefined };
  if (typeof method !== 'string')
    return isObject(result) && result['resultType'] === 'input_required'
      ? { kind: 'result', ...ids, input: true, requestState: textOf(result['requestState']) }
      : { kind: error === undefined ? 'result' : 'error', ...ids };
  const fields: JsonObject = isObject(params) ? params : {};
  const meta: JsonObject = isObject(fields['_meta']) ? fields['_meta'] : {};
  if (id === undefined) {
    const about = method === NotificationMethod.Cancelled ? fields['requestId'] : meta[Meta.SubscriptionId];
    const token = method === NotificationMethod.Progress ? fields['progressToken'] : undefined;
    return { kind: 'notification', method, progressToken: requestId(token), about: requestId(about) };
  }
  return {
    kind: 'request',
    ...ids,
    method,
    tool: method === Method.CallTool ? textOf(fields['name']) : undefined,
    progressToken: requestId(meta[Meta.ProgressToken]),
    input: fields['inputResponses'] !== undefined || fields['requestState'] !== undefined,
    requestState: textOf(fields['requestState']),
  };
}

function requestId(value: unknown): RequestId | undefined {
  return isRequestId(value) ? value : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
