import { isObject, isRequestId, type JsonObject, type RequestId } from '../../jsonrpc/message.ts';
import { McpErrorCode } from '../../protocol/errors.ts';
import { Meta, Method, NotificationMethod } from '../../protocol/methods.ts';
import { profileOf } from '../../protocol/revisions.ts';
import type { Conversation, Phase } from './conversation.ts';
import type { MessageEvent } from './events.ts';
import type { Exchange } from './exchange.ts';
import { otherSide, type Requests, type SeenRequest, type Side } from './requests.ts';
import { revisionsOfClient, revisionsOfServer } from './revisions-of.ts';
import { isNewTask } from './seen-tasks.ts';

/** Where a message was seen. */
export interface MessagePlace {
  readonly n: number;
  /** Further records that show it. */
  readonly others?: readonly number[];
  readonly from: Side;
  readonly conversation: Conversation;
  readonly exchange: Exchange | undefined;
  readonly inBatch: boolean;
  /** The length of the text, in UTF-16 code units. */
  readonly size: number;
}

/** Larger params are not kept for the answer, except for these members. */
const MAX_KEPT = 4 * 1024;
const KEPT = ['_meta', 'name', 'uri'] as const;

/** The most tools whose order is remembered. */
const MAX_TOOLS = 500;

const MODERN_CODES: ReadonlySet<unknown> = new Set([
  McpErrorCode.HeaderMismatch,
  McpErrorCode.MissingRequiredClientCapability,
  McpErrorCode.UnsupportedProtocolVersion,
]);

/** Describes a message, and remembers what later messages need to know about it. */
export function readMessage(message: JsonObject, place: MessagePlace): MessageEvent {
  const { conversation, exchange, from } = place;
  const kind = kindOf(message);
  const params = objectOf(message['params']);
  const result = objectOf(message['result']);
  const error = objectOf(message['error']);
  const method = typeof message['method'] === 'string' ? message['method'] : '';
  const meta = objectOf((kind === 'result' ? result : params)['_meta']);
  const { about, knowsAll } = aboutOf(kind, message, params, place);
  const before = about && { answered: about.answered, progress: about.progress };
  if (from === 'server' && about !== undefined && isModernAnswer(about, result, error))
    conversation.isModernServer = true;
  const revisions = from === 'client' ? revisionsOfClient(message, place) : revisionsOfServer(message, place, about);
  const own = conversation.requests[from];
  const task = taskIn(kind, method, params, result);
  const isRequest = kind === 'request' && isRequestId(message['id']);
  const token = progressTokenOf(meta);
  // Without a session, requests of several clients may have the same id.
  const comparable = isRequest && !conversation.isShared;
  const event: MessageEvent = {
    records: [place.n, ...(place.others ?? [])],
    kind,
    from,
    message,
    method,
    params,
    meta,
    result,
    error,
    revisions,
    conversation,
    carriage: conversation.carriage,
    phase: conversation.phase,
    exchange,
    inBatch: place.inBatch,
    about,
    before,
    knowsAll,
    sameId: comparable ? own.find(message['id']) : undefined,
    sameToken: comparable && token !== undefined ? own.withToken(token) : undefined,
    isAfterAnswer: from === 'server' && exchange?.asks === true && exchange.waiting.size === 0,
    subscription: subscriptionOf(from, meta, place),
    task,
    taskBefore: conversation.tasks.of({ kind, from, method, params, meta, result, about, task }),
    toolOrderBefore: conversation.toolOrder,
    clientCapabilities: capabilitiesOf(conversation, exchange, from, meta, about),
  };
  if (isRequest) {
    const request: SeenRequest = {
      n: place.n,
      id: message['id'] as RequestId,
      method,
      from,
      params: place.size <= MAX_KEPT ? params : Object.fromEntries(KEPT.map((key) => [key, params[key]])),
      revisions,
      exchange: exchange?.key,
      progressToken: token,
      tool: method === Method.CallTool ? conversation.tool(params['name']) : undefined,
      answered: undefined,
      cancelled: undefined,
      progress: undefined,
      taskId: undefined,
      accepted: undefined,
    };
    own.add(request);
    if (from === 'client' && exchange) {
      exchange.asks = true;
      exchange.waiting.add(request);
    }
  }
  apply(event, place);
  return event;
}

function kindOf({ method, id, error }: JsonObject): MessageEvent['kind'] {
  if (method !== undefined) return id === undefined ? 'notification' : 'request';
  return error === undefined ? 'result' : 'error';
}

interface About {
  /** The request that a message is about. */
  readonly about: SeenRequest | undefined;
  /** Whether it would be known if there were one. */
  readonly knowsAll: boolean;
}

function aboutOf(kind: MessageEvent['kind'], message: JsonObject, params: JsonObject, place: MessagePlace): About {
  if (kind === 'result' || kind === 'error') return answeredBy(message, place);
  if (message['method'] === NotificationMethod.Progress) return progressedBy(params['progressToken'], place);
  if (message['method'] === NotificationMethod.Cancelled) return cancelledBy(params['requestId'], place);
  return { about: undefined, knowsAll: false };
}

/** Over HTTP, an answer usually is on the stream of its request, whoever else uses the same id. */
function answeredBy({ id }: JsonObject, { conversation, exchange, from }: MessagePlace): About {
  const here = from === 'server' && exchange ? [...exchange.waiting].find((each) => each.id === id) : undefined;
  if (here) return { about: here, knowsAll: true };
  return inConversation(conversation, otherSide(from), (requests) => requests.find(id));
}

function progressedBy(token: unknown, { conversation, exchange, from }: MessagePlace): About {
  const here =
    from === 'server' && exchange ? [...exchange.waiting].find((each) => each.progressToken === token) : undefined;
  if (here) return { about: here, knowsAll: true };
  return inConversation(conversation, otherSide(from), (requests) => requests.withToken(token));
}

/** A sender cancels its own requests. Servers of 2026-07-28 end subscriptions of clients with the same notification. */
function cancelledBy(id: unknown, { conversation, from }: MessagePlace): About {
  const own = inConversation(conversation, from, (requests) => requests.find(id));
  if (own.about || from === 'client') return own;
  const theirs = inConversation(conversation, 'client', (requests) => requests.find(id));
  return theirs.about ? theirs : { about: undefined, knowsAll: own.knowsAll && theirs.knowsAll };
}

function inConversation(
  { requests, isShared }: Conversation,
  side: Side,
  find: (requests: Requests) => SeenRequest | undefined,
): About {
  // Without a session, the same id may be that of another client.
  return { about: isShared ? undefined : find(requests[side]), knowsAll: requests[side].isComplete };
}

/** The `subscriptions/listen` that a notification belongs to (2026-07-28, basic/patterns/subscriptions). */
function subscriptionOf(
  from: Side,
  meta: JsonObject,
  { conversation, exchange }: MessagePlace,
): SeenRequest | undefined {
  const id: unknown = meta[Meta.SubscriptionId];
  if (from !== 'server' || id === undefined) return undefined;
  const here = [...(exchange?.waiting ?? [])].find((each) => each.id === id);
  return here ?? (conversation.isShared ? undefined : conversation.requests.client.find(id));
}

function isModernAnswer(about: SeenRequest, result: JsonObject, error: JsonObject): boolean {
  if (!about.revisions.some((each) => profileOf(each)!.era === 'modern')) return false;
  const discovers = about.method === Method.Discover && Array.isArray(result['supportedVersions']);
  return discovers || typeof result['resultType'] === 'string' || MODERN_CODES.has(error['code']);
}

/** The state of a task in a result or a status notification. */
function taskIn(
  kind: MessageEvent['kind'],
  method: string,
  params: JsonObject,
  result: JsonObject,
): MessageEvent['task'] {
  const isNotification = method === NotificationMethod.TaskStatus || method === NotificationMethod.Task;
  const state = kind === 'result' ? (isObject(result['task']) ? result['task'] : result) : isNotification ? params : {};
  const { taskId, status } = state;
  return typeof taskId === 'string' && typeof status === 'string' ? { taskId, status } : undefined;
}

function capabilitiesOf(
  conversation: Conversation,
  exchange: Exchange | undefined,
  from: Side,
  meta: JsonObject,
  about: SeenRequest | undefined,
): JsonObject | undefined {
  const own = from === 'client' ? meta : undefined;
  const asked = about?.from === 'client' ? about : ([...(exchange?.waiting ?? [])].at(0) ?? undefined);
  const declared = (own ?? objectOf(asked?.params?.['_meta']))[Meta.ClientCapabilities];
  return isObject(declared) ? declared : conversation.clientCapabilities;
}

/** What a message changes for later ones. */
function apply(event: MessageEvent, { n }: MessagePlace): void {
  const { kind, from, method, params, result, about, conversation, exchange } = event;
  if (from === 'client' && method !== '' && method !== Method.Ping) conversation.phase = phaseAfter(event);
  if (method === NotificationMethod.Acknowledged && event.subscription)
    event.subscription.accepted = objectOf(params['notifications']);
  if (method === NotificationMethod.ToolsListChanged) conversation.forgetTools();
  conversation.tasks.learn(event);
  if (method === Method.Elicit) conversation.elicitations.add(params['elicitationId']);
  for (const each of listIn(event.error)) conversation.elicitations.add(objectOf(each)['elicitationId']);
  if (!about) return;
  if (method === NotificationMethod.Progress && typeof params['progress'] === 'number') {
    about.progress = params['progress'];
  }
  if (method === NotificationMethod.Cancelled) about.cancelled ??= n;
  if (kind !== 'result' && kind !== 'error') return;
  about.answered ??= n;
  if (isNewTask(result)) about.taskId ??= event.task?.taskId ?? '';
  conversation.forgetParams(about);
  if (kind === 'result') learn(about, result, conversation, from);
  exchange?.waiting.delete(about);
}

/** The phase after a message of the client. A message that is out of order is reported only once. */
function phaseAfter({ method, phase, kind, revisions }: MessageEvent): Phase {
  switch (phase) {
    case 'new':
      // A client of both eras may try 2026-07-28 first.
      if (revisions.length === 1 && profileOf(revisions[0]!)!.era === 'modern') return phase;
      return method === Method.Initialize && kind === 'request' ? 'initializing' : 'none';
    case 'answered':
      return 'operating';
    default:
      return phase;
  }
}

/** What a result says about its conversation. */
function learn(about: SeenRequest, result: JsonObject, conversation: Conversation, from: Side): void {
  const { method, params } = about;
  if (from === 'server' && method === Method.Initialize) {
    const named: unknown = result['protocolVersion'];
    const revision = typeof named === 'string' ? profileOf(named)?.revision : undefined;
    const declared: unknown = params?.['capabilities'];
    const client = isObject(declared) ? declared : undefined;
    const server = objectOf(result['capabilities']);
    // Several clients without a session may have negotiated different things.
    conversation.revision = agreed(conversation, conversation.revision, revision);
    conversation.clientCapabilities = agreed(conversation, conversation.clientCapabilities, client);
    conversation.serverCapabilities = server;
    if (conversation.phase === 'initializing') conversation.phase = 'answered';
  }
  if (method === Method.Discover && isObject(result['capabilities']))
    conversation.serverCapabilities = result['capabilities'];
  if (method === Method.ListTools && Array.isArray(result['tools']))
    for (const tool of result['tools'] as unknown[])
      if (isObject(tool) && typeof tool['name'] === 'string') conversation.addTool(tool['name'], tool);
  if (method === Method.ListTools) conversation.toolOrder = toolOrderOf(about, result) ?? conversation.toolOrder;
  conversation.cursors.add(result['nextCursor']);
  conversation.addPage(method, result['nextCursor'], result['cacheScope']);
  conversation.states.add(result['requestState']);
  if (params && result['resultType'] === 'input_required')
    conversation.addRound(result['requestState'], {
      method,
      target: targetOf(params),
      questions: keptQuestions(result),
    });
}

/** What a request that may be answered with questions names in its params. */
export function targetOf({ name, uri }: JsonObject): unknown {
  return name ?? uri;
}

function keptQuestions({ inputRequests }: JsonObject): JsonObject | undefined {
  return isObject(inputRequests) && JSON.stringify(inputRequests).length <= MAX_KEPT ? inputRequests : undefined;
}

function agreed<T>(conversation: Conversation, known: T | undefined, now: T | undefined): T | undefined {
  if (!conversation.isShared || known === undefined || JSON.stringify(known) === JSON.stringify(now)) return now;
  return undefined;
}

/** The elicitations that the error −32042 requires (2025-11-25). */
function listIn({ data }: JsonObject): readonly unknown[] {
  const listed: unknown = objectOf(data)['elicitations'];
  return Array.isArray(listed) ? listed : [];
}

export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** The names of tools in a list that is one page. */
export function toolOrderOf({ params }: SeenRequest, { tools, nextCursor }: JsonObject): readonly string[] | undefined {
  if (params === undefined || params['cursor'] !== undefined || nextCursor !== undefined) return undefined;
  if (!Array.isArray(tools) || tools.length > MAX_TOOLS) return undefined;
  return tools.map((tool: unknown) => textIn(objectOf(tool)['name']));
}

/** The token that a request names for its progress. */
function progressTokenOf(meta: JsonObject): RequestId | undefined {
  const token: unknown = meta[Meta.ProgressToken];
  return isRequestId(token) ? token : undefined;
}

/** A text of a peer. Empty if it is none: `String` would call a `toString` of the peer. */
function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
