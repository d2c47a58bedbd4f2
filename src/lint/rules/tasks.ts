import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { Method } from '../../protocol/methods.ts';
import { isTerminal } from '../../protocol/tasks.ts';
import { clauses } from '../clauses.ts';
import type { MessageEvent } from '../model/events.ts';
import { isNewTask, RELATED_TASK } from '../model/seen-tasks.ts';
import { onEvent, type WireRule } from '../rule.ts';
import { shown } from './shown.ts';

const PAGE = 'basic/utilities/tasks';
const ABOUT_TASKS: ReadonlySet<string> = new Set(['tasks/get', 'tasks/list', 'tasks/cancel']);
const WITH_ID: ReadonlySet<string> = new Set(['tasks/get', 'tasks/result', 'tasks/cancel']);

/** Tasks: of the core in 2025-11-25, and of the extension in 2026-07-28. */
export const TASK_RULES: readonly WireRule[] = [
  onEvent('message', {
    id: 'task-undeclared',
    area: 'tasks',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, `${PAGE} 1,2,3,4`),
    right: 'A task is requested only if the other side declared tasks for this request.',
    check: ({ kind, from, method, params, conversation: { serverCapabilities }, clientCapabilities }) => {
      if (kind !== 'request' || !isObject(params['task'])) return undefined;
      const declared = from === 'client' ? serverCapabilities : clientCapabilities;
      if (declared === undefined) return undefined;
      const [area = '', name = ''] = method.split('/');
      return declared['tasks']?.requests?.[area]?.[name] !== undefined || `${method} as a task`;
    },
  }),
  onEvent('message', {
    id: 'task-tool-support',
    area: 'tasks',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, `${PAGE} 5,7`),
    right: 'A tool that requires tasks is called as a task, and a tool that forbids tasks is not.',
    check: ({ kind, from, method, params, conversation }) => {
      if (kind !== 'request' || from !== 'client' || method !== Method.CallTool) return undefined;
      const tool = conversation.tool(params['name']);
      if (!tool || conversation.serverCapabilities?.['tasks']?.requests?.tools?.call === undefined) return undefined;
      const support: unknown = tool['execution']?.taskSupport ?? 'forbidden';
      const isTask = params['task'] !== undefined;
      if (support === 'required') return isTask || `the tool ${shown(params['name'])} without a task`;
      return support !== 'forbidden' || !isTask || `the tool ${shown(params['name'])} as a task`;
    },
  }),
  onEvent('message', {
    id: 'task-first-status',
    area: 'tasks',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, `${PAGE} 20,34`),
    right: 'A task begins with the status `working`.',
    check: ({ kind, about, result: { task } }) =>
      kind === 'result' && about && isObject(about.params?.['task']) && isObject(task)
        ? task['status'] === 'working' || `the status ${shown(task['status'])}`
        : undefined,
  }),
  onEvent('message', {
    id: 'task-status-order',
    area: 'tasks',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, `${PAGE} 21,22,54`, 'extensions/tasks 17,18,20,21,22'),
    right: 'The status of a task that has ended does not change.',
    check: ({ taskBefore, task }) => {
      const before = taskBefore?.status;
      if (before === undefined || task === undefined) return undefined;
      return !isTerminal(before) || task.status === before || `${shown(task.status)} after ${shown(before)}`;
    },
  }),
  onEvent('message', {
    id: 'task-related-superfluous',
    area: 'tasks',
    severity: 'warning',
    clauses: clauses(undefined, undefined, undefined, `${PAGE} 42,44,46,57`),
    right: 'Requests about tasks, their results and status notifications do not name the task in `_meta` too.',
    check: ({ kind, method, about, meta }) => {
      const isAbout =
        kind === 'result'
          ? ABOUT_TASKS.has(about?.method ?? '')
          : WITH_ID.has(method) || method === 'notifications/tasks/status';
      return isAbout
        ? meta[RELATED_TASK] === undefined || `${RELATED_TASK} in ${method || `the result of ${about!.method}`}`
        : undefined;
    },
  }),
  onEvent('message', {
    id: 'task-result-related',
    area: 'tasks',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, `${PAGE} 39,56,58`),
    right: 'The result of `tasks/result` names the task in `_meta`.',
    check: ({ kind, about, meta }) => {
      if (kind !== 'result' || about?.method !== 'tasks/result') return undefined;
      const named: unknown = meta[RELATED_TASK];
      if (!isObject(named)) return `no ${RELATED_TASK}`;
      const id: unknown = about.params?.['taskId'];
      return id === undefined || named['taskId'] === id || `the task ${shown(named['taskId'])} instead of ${shown(id)}`;
    },
  }),
  onEvent('message', {
    id: 'task-cancelled-status',
    area: 'tasks',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, `${PAGE} 53`),
    right: 'The result of `tasks/cancel` has the status `cancelled`.',
    check: ({ kind, about, result }) =>
      kind === 'result' && about?.method === Method.CancelTask
        ? result['status'] === 'cancelled' || `the status ${shown(result['status'])}`
        : undefined,
  }),
  onEvent('message', {
    id: 'task-id-guessable',
    area: 'tasks',
    severity: 'advice',
    clauses: clauses(undefined, undefined, undefined, `${PAGE} 68`, 'extensions/tasks 56'),
    right: 'The id of a task cannot be guessed: it has at least 16 characters.',
    check: ({ kind, about, result }) => {
      const id = kind === 'result' && about ? createdTask(result)?.['taskId'] : undefined;
      return typeof id === 'string' ? id.length >= 16 || `the id ${shown(id)}` : undefined;
    },
  }),
  onEvent('message', {
    id: 'task-id-reused',
    area: 'tasks',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, `${PAGE} 19`),
    right: 'The id of a task is unique among the tasks of its receiver.',
    check: ({ kind, about, result, task, taskBefore }) => {
      if (kind !== 'result' || !about || !task || !isNewTask(result)) return undefined;
      const other = taskBefore?.origin;
      // A task that has ended may be removed.
      if (!other || isTerminal(taskBefore.status)) return true;
      return other === about || `the id ${shown(task.taskId)} of the task that began in record ${other.answered}`;
    },
  }),
  onEvent('message', {
    id: 'task-failed-reason',
    area: 'tasks',
    severity: 'warning',
    clauses: clauses(undefined, undefined, undefined, `${PAGE} 63`, 'extensions/tasks 50'),
    right: 'The state of a failed task has a `statusMessage` with the reason.',
    check: ({ kind, about, task, result: { statusMessage } }) => {
      if (kind !== 'result' || about?.method !== Method.GetTask || task?.status !== 'failed') return undefined;
      return (typeof statusMessage === 'string' && statusMessage !== '') || 'the status failed without statusMessage';
    },
  }),
  onEvent('response', {
    id: 'task-get-stream',
    area: 'tasks',
    severity: 'warning',
    clauses: clauses(undefined, undefined, undefined, `${PAGE} 24`),
    right: '`tasks/get` is answered with JSON, and not with an event stream: the requestor polls.',
    check: ({ exchange: { messages, isStream } }) =>
      messages.length === 1 && messages[0]!.method === Method.GetTask
        ? !isStream || 'an event stream for tasks/get'
        : undefined,
  }),
  onEvent('message', {
    id: 'task-result-type',
    area: 'tasks',
    severity: 'error',
    clauses: { '2026-07-28': 'extensions/tasks 23,36,40' },
    right: 'The results of `tasks/get`, `tasks/update` and `tasks/cancel` are of type `complete`.',
    check: ({ kind, from, about, result }) => {
      if (kind !== 'result' || from !== 'server' || !about?.method.startsWith('tasks/')) return undefined;
      return result['resultType'] === 'complete' || `"resultType": ${shown(result['resultType'])}`;
    },
  }),
  onEvent('message', {
    id: 'task-state-content',
    area: 'tasks',
    severity: 'error',
    clauses: { '2026-07-28': 'extensions/tasks 18,20,22,51' },
    right: 'A finished task has its result, a failed one its error, and one that waits has its questions.',
    check: ({ kind, from, about, result }) => {
      if (kind !== 'result' || from !== 'server' || about?.method !== Method.GetTask) return undefined;
      const member = CONTENT.get(result['status']);
      if (member === undefined) return undefined;
      return result[member] !== undefined || `the status ${shown(result['status'])} without ${member}`;
    },
  }),
  onEvent('message', {
    id: 'task-failed-tool-error',
    area: 'tasks',
    severity: 'error',
    clauses: { '2026-07-28': 'extensions/tasks 9,52,53' },
    right: 'A tool error is a result: its task is `completed`. Only a JSON-RPC error makes it `failed`.',
    check: ({ kind, from, about, result }) =>
      kind === 'result' && from === 'server' && about?.method === Method.GetTask && result['status'] === 'failed'
        ? !isObject(result['result']) || 'the status failed with a result'
        : undefined,
  }),
];

const CONTENT: ReadonlyMap<unknown, string> = new Map([
  ['completed', 'result'],
  ['failed', 'error'],
  ['input_required', 'inputRequests'],
]);

/** The task that a result creates. */
function createdTask(result: MessageEvent['result']): JsonObject | undefined {
  if (!isNewTask(result)) return undefined;
  return isObject(result['task']) ? result['task'] : result;
}
