import { isRequestId } from '../../jsonrpc/message.ts';
import { Meta, Method, NotificationMethod } from '../../protocol/methods.ts';
import { clauses } from '../clauses.ts';
import type { MessageEvent } from '../model/events.ts';
import { onEvent, type WireRule } from '../rule.ts';
import { shown } from './shown.ts';

const PROGRESS = 'basic/utilities/progress';
const CANCELLATION = 'basic/utilities/cancellation';

/** The notifications that a subscription may ask for, with the member of the filter. */
const SUBSCRIBED: ReadonlyMap<string, string> = new Map([
  [NotificationMethod.ToolsListChanged, 'toolsListChanged'],
  [NotificationMethod.PromptsListChanged, 'promptsListChanged'],
  [NotificationMethod.ResourcesListChanged, 'resourcesListChanged'],
  [NotificationMethod.ResourceUpdated, 'resourceSubscriptions'],
]);

/** Progress, cancellation, logging, and subscriptions. */
export const NOTIFICATION_RULES: readonly WireRule[] = [
  onEvent('message', {
    id: 'progress-token-type',
    area: 'notifications',
    severity: 'error',
    clauses: clauses(`${PROGRESS} 1`, `${PROGRESS} 1`, `${PROGRESS} 1`, `${PROGRESS} 1`, 'basic/patterns/progress 1'),
    right: 'A progress token is a string or an integer.',
    inSchema: true,
    check: ({ kind, meta, method, params }) => {
      const token: unknown =
        method === NotificationMethod.Progress ? params['progressToken'] : meta[Meta.ProgressToken];
      if (token === undefined || (kind !== 'request' && kind !== 'notification')) return undefined;
      return isRequestId(token) || `the token ${shown(token)}`;
    },
  }),
  onEvent('message', {
    id: 'progress-token-reused',
    area: 'notifications',
    severity: 'error',
    clauses: clauses(`${PROGRESS} 2`, `${PROGRESS} 2`, `${PROGRESS} 2`, `${PROGRESS} 2`, 'basic/patterns/progress 2'),
    right: 'A progress token is unique among the active requests.',
    check: ({ kind, sameToken, meta, conversation, message }) => {
      if (kind !== 'request' || meta[Meta.ProgressToken] === undefined || conversation.isShared) return undefined;
      const isActive = sameToken && sameToken.answered === undefined && sameToken.cancelled === undefined;
      if (!isActive || sameToken.id === message['id']) return true;
      return `the token ${shown(meta[Meta.ProgressToken])} is in use since record ${sameToken.n}`;
    },
  }),
  onEvent('message', {
    id: 'progress-increases',
    area: 'notifications',
    severity: 'error',
    clauses: clauses(`${PROGRESS} 3`, `${PROGRESS} 3`, `${PROGRESS} 3`, `${PROGRESS} 3`, 'basic/patterns/progress 3'),
    right: 'The value of progress increases with each notification.',
    check: ({ method, before, params: { progress } }) => {
      if (method !== NotificationMethod.Progress || before?.progress === undefined || typeof progress !== 'number')
        return undefined;
      return progress > before.progress || `${progress} after ${before.progress}`;
    },
  }),
  onEvent('message', {
    id: 'progress-token-unknown',
    area: 'notifications',
    severity: 'error',
    clauses: clauses(`${PROGRESS} 4`, `${PROGRESS} 5`, `${PROGRESS} 5`, `${PROGRESS} 5`, 'basic/patterns/progress 5'),
    right: 'Progress names the token of a request.',
    check: ({ method, about, knowsAll, params }) => {
      if (method !== NotificationMethod.Progress || !(about || knowsAll)) return undefined;
      return about !== undefined || `the token ${shown(params['progressToken'])}, which no request had`;
    },
  }),
  onEvent('message', {
    id: 'progress-after-end',
    area: 'notifications',
    severity: 'error',
    clauses: clauses(
      `${PROGRESS} 5,8`,
      `${PROGRESS} 6,9`,
      `${PROGRESS} 6,9`,
      `${PROGRESS} 6,12`,
      'basic/patterns/progress 6,9',
    ),
    right: 'Progress stops when the request is answered.',
    check: (event) => {
      const { method, about, before, exchange } = event;
      if (method !== NotificationMethod.Progress || !about || about.taskId !== undefined) return undefined;
      // On another stream, it may have been sent before the response.
      if (exchange && about.exchange !== exchange.key) return undefined;
      return before!.answered === undefined || `progress after the response in record ${before!.answered}`;
    },
  }),
  onEvent('message', {
    id: 'cancelled-unknown',
    area: 'notifications',
    severity: 'error',
    clauses: clauses(
      `${CANCELLATION} 1`,
      `${CANCELLATION} 1`,
      `${CANCELLATION} 1`,
      `${CANCELLATION} 1,2`,
      'basic/patterns/cancellation 10',
    ),
    right: 'A sender cancels only its own requests.',
    check: ({ method, about, knowsAll, params }) => {
      if (method !== NotificationMethod.Cancelled || !(about || knowsAll)) return undefined;
      return about !== undefined || `the request ${shown(params['requestId'])}, which was never sent`;
    },
  }),
  onEvent('message', {
    id: 'cancelled-task',
    area: 'tasks',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, `${CANCELLATION} 4`, 'extensions/tasks 37'),
    right: 'A task is cancelled with `tasks/cancel`.',
    check: ({ method, about }) =>
      method === NotificationMethod.Cancelled && about
        ? about.taskId === undefined || `notifications/cancelled for a ${about.method} that has become a task`
        : undefined,
  }),
  onEvent('message', {
    id: 'cancelled-over-http',
    area: 'notifications',
    severity: 'advice',
    clauses: { '2026-07-28': 'basic/patterns/cancellation 4' },
    right: 'Over HTTP, a client cancels a request by closing its stream. A notification is not expected.',
    check: ({ method, from, carriage }) =>
      method === NotificationMethod.Cancelled && from === 'client'
        ? carriage === 'stdio' || 'notifications/cancelled over HTTP'
        : undefined,
  }),
  onEvent('message', {
    id: 'cancelled-by-server',
    area: 'notifications',
    severity: 'error',
    clauses: { '2026-07-28': 'basic/patterns/cancellation 3,11' },
    right: 'A server sends `notifications/cancelled` only to end a subscription.',
    check: ({ method, from, about }) =>
      method === NotificationMethod.Cancelled && from === 'server' && about
        ? about.method === Method.Listen || `notifications/cancelled for ${about.method}`
        : undefined,
  }),
  onEvent('message', {
    id: 'log-not-requested',
    area: 'notifications',
    severity: 'error',
    clauses: { '2026-07-28': 'server/utilities/logging 4,5; extensions/tasks 42' },
    right: 'A server sends log messages only while it answers a request that asks for them, and not on a subscription.',
    check: ({ method, from, exchange, conversation, subscription }) => {
      if (method !== NotificationMethod.Message || from !== 'server') return undefined;
      if (subscription) return 'a log message on a subscription';
      const open = exchange ? [...exchange.waiting] : [...conversation.requests.client.open()];
      // A request whose params are not known may have asked.
      if (open.some(({ params }) => params === undefined) || (!exchange && conversation.isShared)) return undefined;
      return (
        open.some(({ params }) => params?.['_meta']?.[Meta.LogLevel] !== undefined) ||
        'a log message that no request asked for'
      );
    },
  }),
  onEvent('message', {
    id: 'subscription-id-missing',
    area: 'subscriptions',
    severity: 'error',
    clauses: { '2026-07-28': 'basic/index 60; basic/patterns/subscriptions 5' },
    right: 'A notification of a subscription has the id of the subscription in `_meta`.',
    check: ({ method, from, meta }) =>
      from === 'server' && isSubscribed(method)
        ? meta[Meta.SubscriptionId] !== undefined || `${method} without ${Meta.SubscriptionId}`
        : undefined,
  }),
  onEvent('message', {
    id: 'subscription-acknowledged-first',
    area: 'subscriptions',
    severity: 'error',
    clauses: { '2026-07-28': 'basic/patterns/subscriptions 2,3' },
    right: 'The acknowledgement is the first message of a subscription.',
    check: ({ method, from, subscription }) => {
      if (from !== 'server' || !SUBSCRIBED.has(method) || !subscription) return undefined;
      return subscription.accepted !== undefined || `${method} before the acknowledgement`;
    },
  }),
  onEvent('message', {
    id: 'subscription-filter',
    area: 'subscriptions',
    severity: 'error',
    clauses: { '2026-07-28': 'basic/patterns/subscriptions 1' },
    right: 'A subscription has only the notifications that the client requested.',
    check: (event) => {
      const { method, from, subscription, params } = event;
      const member = SUBSCRIBED.get(method);
      const wanted: unknown = subscription?.params?.['notifications'];
      if (from !== 'server' || member === undefined || typeof wanted !== 'object' || wanted === null) return undefined;
      const filter = (wanted as Record<string, unknown>)[member];
      if (member !== 'resourceSubscriptions') return filter === true || `${method}, which was not requested`;
      const isWanted = Array.isArray(filter) && filter.length > 0;
      return isWanted || `${method} of ${shown(params['uri'])}, which was not requested`;
    },
  }),
];

function isSubscribed(method: MessageEvent['method']): boolean {
  return SUBSCRIBED.has(method) || method === NotificationMethod.Acknowledged;
}
