import { Method, NotificationMethod } from '../../protocol/methods.ts';
import { profileOf } from '../../protocol/revisions.ts';
import { BEFORE_2025_06_18, clauses, onPage } from '../clauses.ts';
import type { MessageEvent } from '../model/events.ts';
import { onEvent, type WireRule } from '../rule.ts';
import { shown } from './shown.ts';

/** Requests that no capability stands for. */
const ALWAYS: ReadonlySet<string> = new Set([Method.Initialize, Method.Ping, Method.Discover]);

/** The server capability that a method needs. */
const NEEDS: ReadonlyMap<string, string> = new Map([
  [Method.ListTools, 'tools'],
  [Method.CallTool, 'tools'],
  [Method.ListPrompts, 'prompts'],
  [Method.GetPrompt, 'prompts'],
  [Method.ListResources, 'resources'],
  [Method.ListResourceTemplates, 'resources'],
  [Method.ReadResource, 'resources'],
  [Method.Subscribe, 'resources'],
  [Method.Unsubscribe, 'resources'],
  [Method.SetLevel, 'logging'],
]);

/** The order of the handshake, and what was negotiated in it. */
export const LIFECYCLE_RULES: readonly WireRule[] = [
  onEvent('message', {
    id: 'initialize-first',
    area: 'lifecycle',
    severity: 'error',
    clauses: onPage('basic/lifecycle', ['1,2', '1,2', '1,2', '1,2'], 'basic/index 50'),
    right: 'A client begins with `initialize`, or sends requests that name 2026-07-28.',
    check: ({ from, phase, method, revisions, conversation }) => {
      if (from !== 'client' || phase !== 'new' || method === '' || conversation.isShared) return undefined;
      if (ALWAYS.has(method) || (revisions.length === 1 && profileOf(revisions[0]!)!.era === 'modern')) return true;
      return `${method} before initialize`;
    },
  }),
  onEvent('message', {
    id: 'initialize-pending',
    area: 'lifecycle',
    severity: 'warning',
    clauses: onPage('basic/lifecycle', ['5', '6', '5', '5']),
    right: 'Until `initialize` is answered, a client sends no requests but pings.',
    check: ({ from, phase, kind, method }) =>
      from === 'client' && phase === 'initializing' && kind === 'request'
        ? method === Method.Ping || `${method} while initialize is being answered`
        : undefined,
  }),
  onEvent('message', {
    id: 'initialized-missing',
    area: 'lifecycle',
    severity: 'error',
    clauses: onPage('basic/lifecycle', ['4', '5', '4', '4']),
    right: 'After the answer to `initialize`, a client sends `notifications/initialized` before other messages.',
    check: ({ from, phase, method, exchange }) => {
      if (from !== 'client' || phase !== 'answered' || method === '' || method === Method.Ping) return undefined;
      // On several connections, messages may overtake each other on their way to a server.
      if (exchange && exchange.role !== 'client') return undefined;
      return method === NotificationMethod.Initialized || `${method} in its place`;
    },
  }),
  onEvent('message', {
    id: 'server-request-early',
    area: 'lifecycle',
    severity: 'warning',
    clauses: onPage('basic/lifecycle', ['6', '7', '6', '6']),
    right: 'Until `notifications/initialized`, a server sends no requests but pings.',
    check: ({ from, kind, phase, method }) => {
      if (from !== 'server' || kind !== 'request' || phase === 'none') return undefined;
      return phase === 'operating' || method === Method.Ping || `${method} before notifications/initialized`;
    },
  }),
  onEvent('message', {
    id: 'initialize-in-batch',
    area: 'lifecycle',
    severity: 'error',
    clauses: clauses(undefined, 'basic/lifecycle 3'),
    right: '`initialize` is not part of a batch.',
    check: ({ method, inBatch }) => (method === Method.Initialize ? !inBatch || 'initialize in a batch' : undefined),
  }),
  onEvent('message', {
    id: 'initialize-cancelled',
    area: 'lifecycle',
    severity: 'error',
    clauses: onPage('basic/utilities/cancellation', ['2', '2', '2', '3']),
    right: 'A client does not cancel `initialize`.',
    check: ({ method, from, about }) =>
      method === NotificationMethod.Cancelled && from === 'client' && about
        ? about.method !== Method.Initialize || 'notifications/cancelled for initialize'
        : undefined,
  }),
  onEvent('message', {
    id: 'ping-result',
    area: 'lifecycle',
    severity: 'error',
    clauses: onPage('basic/utilities/ping', ['1', '1', '1', '1']),
    right: 'A ping is answered with an empty result.',
    check: ({ kind, about, result }) => {
      if (kind !== 'result' || about?.method !== Method.Ping) return undefined;
      return Object.keys(result).every((key) => key === '_meta') || `the result ${shown(result)}`;
    },
  }),
  onEvent('message', {
    id: 'server-capability-used',
    area: 'lifecycle',
    severity: 'error',
    warningIn: BEFORE_2025_06_18,
    clauses: clauses(
      'basic/lifecycle 14; server/prompts 10',
      'basic/lifecycle 15; server/prompts 11',
      'basic/lifecycle 15; server/prompts 13',
      'basic/lifecycle 15; server/prompts 13',
    ),
    right: 'A client sends only requests for which the server has declared the capability.',
    check: ({ from, kind, method, conversation }) => {
      const capability = NEEDS.get(method);
      if (from !== 'client' || kind !== 'request' || capability === undefined) return undefined;
      return declares(conversation.serverCapabilities, capability, method);
    },
  }),
  onEvent('message', {
    id: 'server-capability-missing',
    area: 'lifecycle',
    severity: 'error',
    clauses: clauses(
      'server/tools 5; server/prompts 1; server/resources 1',
      'server/tools 5; server/prompts 1; server/resources 1; server/utilities/completion 1',
      'server/tools 5; server/prompts 1; server/resources 1; server/utilities/completion 1',
      'server/tools 5; server/prompts 1; server/resources 1; server/utilities/completion 1',
      'server/tools 6; server/prompts 2; server/resources 2; server/utilities/completion 2',
    ),
    right: 'A server that has tools, prompts, resources or completions declares the capability.',
    check: ({ from, kind, about, conversation, result }) => {
      if (from !== 'server' || kind !== 'result' || !about) return undefined;
      const capability = NEEDS.get(about.method) ?? (about.method === Method.Complete ? 'completions' : undefined);
      // Some servers answer every list with an empty one.
      const isEmptyList = ['tools', 'prompts', 'resources', 'resourceTemplates'].some(
        (key) => Array.isArray(result[key]) && result[key].length === 0,
      );
      if (capability === undefined || isEmptyList || hasNoCompletions(about.method, about.revisions)) return undefined;
      return declares(conversation.serverCapabilities, capability, about.method);
    },
  }),
  onEvent('message', {
    id: 'notification-capability-missing',
    area: 'notifications',
    severity: 'error',
    clauses: onPage('server/utilities/logging', ['1', '1', '1', '1', '3']),
    right: 'A server that sends log messages declares `logging`.',
    check: ({ from, method, conversation: { serverCapabilities } }) =>
      from === 'server' && method === NotificationMethod.Message
        ? declares(serverCapabilities, 'logging', method)
        : undefined,
  }),
  onEvent('message', {
    id: 'list-changed-undeclared',
    area: 'notifications',
    severity: 'error',
    warningIn: BEFORE_2025_06_18,
    clauses: onPage('basic/lifecycle', ['14', '15', '15', '15']),
    right: 'A server that announces changes of a list has declared `listChanged` for it.',
    check: ({ from, method, conversation: { serverCapabilities } }) => {
      const kind = /^notifications\/(tools|prompts|resources)\/list_changed$/.exec(method)?.[1];
      if (from !== 'server' || kind === undefined || serverCapabilities === undefined) return undefined;
      return serverCapabilities[kind]?.listChanged === true || `${method} without ${kind}.listChanged`;
    },
  }),
  onEvent('message', {
    id: 'roots-changed-undeclared',
    area: 'notifications',
    severity: 'error',
    warningIn: BEFORE_2025_06_18,
    clauses: onPage('basic/lifecycle', ['14', '15', '15', '15']),
    right: 'A client that announces changes of its roots has declared `roots.listChanged`.',
    check: ({ from, method, clientCapabilities }) => {
      if (from !== 'client' || method !== NotificationMethod.RootsListChanged || !clientCapabilities) return undefined;
      return clientCapabilities['roots']?.listChanged === true || `${method} without roots.listChanged`;
    },
  }),
  onEvent('message', {
    id: 'method-of-other-revision',
    area: 'lifecycle',
    severity: 'error',
    warningIn: BEFORE_2025_06_18,
    clauses: onPage('basic/lifecycle', ['13', '14', '14', '14'], 'basic/patterns/index'),
    right: 'Both sides send only what the negotiated revision has. Extensions have methods of their own.',
    check: ofOtherRevision,
  }),
];

function declares(
  capabilities: Record<string, unknown> | undefined,
  capability: string,
  method: string,
): undefined | true | string {
  if (capabilities === undefined) return undefined;
  return capabilities[capability] !== undefined || `${method} without ${capability} in ${shown(capabilities)}`;
}

/** Before 2025-03-26, there was no capability for completions. */
function hasNoCompletions(method: string, revisions: readonly string[]): boolean {
  return method === Method.Complete && revisions.includes('2024-11-05');
}

/** Requests and notifications of the core that only some revisions have, with the first and the last of them. */
const ONLY: ReadonlyMap<string, readonly [first: string, last: string]> = new Map([
  [Method.Elicit, ['2025-06-18', '2025-11-25']],
  ['tasks/result', ['2025-11-25', '2025-11-25']],
  ['tasks/list', ['2025-11-25', '2025-11-25']],
  ['notifications/tasks/status', ['2025-11-25', '2025-11-25']],
  ['notifications/elicitation/complete', ['2025-11-25', '2025-11-25']],
  [Method.Listen, ['2026-07-28', '2026-07-28']],
  [NotificationMethod.Acknowledged, ['2026-07-28', '2026-07-28']],
  [Method.Ping, ['2024-11-05', '2025-11-25']],
  [Method.SetLevel, ['2024-11-05', '2025-11-25']],
  [Method.Subscribe, ['2024-11-05', '2025-11-25']],
  [Method.Unsubscribe, ['2024-11-05', '2025-11-25']],
  [NotificationMethod.Initialized, ['2024-11-05', '2025-11-25']],
  [NotificationMethod.RootsListChanged, ['2024-11-05', '2025-11-25']],
]);

function ofOtherRevision({ method, revisions }: MessageEvent): undefined | true | string {
  const only = ONLY.get(method);
  if (!only || revisions.length !== 1) return undefined;
  const [first, last] = only;
  const isRight = revisions[0]! >= first && revisions[0]! <= last;
  return (
    isRight ||
    `${method}, which ${first === last ? 'only' : 'only revisions from'} ${first}${first === last ? '' : ` to ${last}`} ${first === last ? 'has' : 'have'}`
  );
}
