import { isObject } from '../../jsonrpc/message.ts';
import { CACHEABLE, Method } from '../../protocol/methods.ts';
import { clauses, everywhere } from '../clauses.ts';
import { onEvent, type WireRule } from '../rule.ts';
import { shown } from './shown.ts';

const LISTS: ReadonlySet<string> = new Set([
  Method.ListTools,
  Method.ListPrompts,
  Method.ListResources,
  Method.ListResourceTemplates,
  'tasks/list',
]);

/** Pages of lists, and how long results may be cached. */
export const LIST_RULES: readonly WireRule[] = [
  onEvent('message', {
    id: 'cursor-unknown',
    area: 'json-rpc',
    severity: 'error',
    clauses: clauses(
      'server/utilities/pagination 7,8',
      'server/utilities/pagination 7,8',
      'server/utilities/pagination 7,8',
      'server/utilities/pagination 7,8; basic/utilities/tasks 49',
      'server/utilities/pagination 7,8',
    ),
    right: 'A client sends only cursors that it got from the server in this session, unchanged.',
    check: ({ kind, from, method, params: { cursor }, conversation }) => {
      if (kind !== 'request' || from !== 'client' || !LISTS.has(method) || typeof cursor !== 'string') return undefined;
      if (conversation.isShared) return undefined;
      return conversation.cursors.mayHave(cursor) || `the cursor ${shown(cursor)}`;
    },
  }),
  onEvent('message', {
    id: 'cursor-repeated',
    area: 'json-rpc',
    severity: 'advice',
    clauses: everywhere('server/utilities/pagination'),
    right: 'The cursor of the next page differs from the cursor of this page: otherwise a list never ends.',
    check: ({ kind, from, about, result: { nextCursor } }) => {
      if (kind !== 'result' || from !== 'server' || !about || !LISTS.has(about.method) || nextCursor === undefined)
        return undefined;
      return nextCursor !== about.params?.['cursor'] || `the cursor ${shown(nextCursor)} again`;
    },
  }),
  onEvent('message', {
    id: 'cursor-null',
    area: 'json-rpc',
    severity: 'advice',
    clauses: everywhere('server/utilities/pagination'),
    right: 'The last page has no `nextCursor`. Null is not the same.',
    inSchema: true,
    check: ({ kind, from, about, result: { nextCursor } }) =>
      kind === 'result' && from === 'server' && about && LISTS.has(about.method)
        ? nextCursor !== null || '"nextCursor": null'
        : undefined,
  }),
  onEvent('message', {
    id: 'cache-hints-missing',
    area: 'caching',
    severity: 'error',
    clauses: { '2026-07-28': 'server/utilities/caching 1' },
    right: 'Results of lists, `resources/read` and `server/discover` have `ttlMs` and `cacheScope`.',
    inSchema: true,
    check: ({ kind, from, about, result }) => {
      if (kind !== 'result' || from !== 'server' || !about || !CACHEABLE.has(about.method)) return undefined;
      if (result['resultType'] !== 'complete') return undefined;
      const missing = ['ttlMs', 'cacheScope'].find((key) => result[key] === undefined);
      return missing === undefined || `the result of ${about.method} without ${missing}`;
    },
  }),
  onEvent('message', {
    id: 'cache-ttl-negative',
    area: 'caching',
    severity: 'error',
    clauses: { '2026-07-28': 'server/utilities/caching 8' },
    right: '`ttlMs` is 0 or more.',
    inSchema: true,
    check: ({ kind, from, result: { ttlMs } }) =>
      kind === 'result' && from === 'server' && typeof ttlMs === 'number'
        ? ttlMs >= 0 || `"ttlMs": ${ttlMs}`
        : undefined,
  }),
  onEvent('message', {
    id: 'cache-scope-pages',
    area: 'caching',
    severity: 'error',
    clauses: { '2026-07-28': 'server/utilities/caching 16,17' },
    right: 'All pages of a list have the same `cacheScope`.',
    check: ({ kind, from, about, result: { cacheScope }, conversation }) => {
      if (kind !== 'result' || from !== 'server' || !about || typeof cacheScope !== 'string') return undefined;
      const before = conversation.scopeBefore(about.method, about.params?.['cursor']);
      return before === undefined ? undefined : before === cacheScope || `${shown(cacheScope)} after ${shown(before)}`;
    },
  }),
  onEvent('message', {
    id: 'subscription-response',
    area: 'subscriptions',
    severity: 'error',
    clauses: { '2026-07-28': 'basic/index 60' },
    right: 'The result of a subscription has the id of the subscription in `_meta`.',
    inSchema: true,
    check: ({ kind, from, about, meta, result }) =>
      kind === 'result' && from === 'server' && about?.method === Method.Listen && isObject(result)
        ? meta['io.modelcontextprotocol/subscriptionId'] !== undefined || 'a result without the id'
        : undefined,
  }),
];
