import { isObject } from '../../jsonrpc/message.ts';
import { canonicalJson } from '../../jsonrpc/shape.ts';
import { Method, NotificationMethod } from '../../protocol/methods.ts';
import { isTerminal } from '../../protocol/tasks.ts';
import { clauses } from '../clauses.ts';
import { otherSide } from '../model/requests.ts';
import { answeredKeys, outcomeOf, questionsOfTask, RELATED_TASK, resultOfTask } from '../model/seen-tasks.ts';

import { onEvent, type WireRule } from '../rule.ts';
import { shown } from './shown.ts';

const PAGE = 'basic/utilities/tasks';
const PROGRESS = 'basic/utilities/progress';

/** The progress, the questions and the results of tasks. */
export const TASK_CONTENT_RULES: readonly WireRule[] = [
  onEvent('message', {
    id: 'task-progress-token',
    area: 'tasks',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, `${PROGRESS} 7,8`),
    right: 'The progress of a task has the token of the request that began it.',
    check: ({ method, meta, params: { progressToken }, taskBefore }) => {
      const token = taskBefore?.origin?.progressToken;
      if (method !== NotificationMethod.Progress || meta[RELATED_TASK] === undefined || token === undefined)
        return undefined;
      return progressToken === token || `the token ${shown(progressToken)} instead of ${shown(token)}`;
    },
  }),
  onEvent('message', {
    id: 'task-progress-after-end',
    area: 'tasks',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, `${PROGRESS} 9`),
    right: 'The progress of a task stops when the task ends.',
    check: ({ method, carriage, taskBefore }) => {
      // Over HTTP, it may have been sent before the end on another stream.
      if (method !== NotificationMethod.Progress || carriage !== 'stdio' || taskBefore?.status === undefined)
        return undefined;
      return !isTerminal(taskBefore.status) || `progress after the status ${shown(taskBefore.status)}`;
    },
  }),
  onEvent('message', {
    id: 'task-question-key',
    area: 'tasks',
    severity: 'error',
    clauses: { '2026-07-28': 'extensions/tasks 28,29,30' },
    right: 'A key stands for one question during the life of a task.',
    check: (event) => {
      const { from, taskBefore } = event;
      const asked = from === 'server' ? questionsOfTask(event) : [];
      if (asked.length === 0) return undefined;
      const changed = asked.find(([key, question]) => {
        const before = taskBefore?.questions.get(key);
        return before !== undefined && before !== canonicalJson(question);
      });
      return changed === undefined || `the key ${shown(changed[0])} for another question`;
    },
  }),
  onEvent('message', {
    id: 'task-answer-unknown',
    area: 'tasks',
    severity: 'error',
    clauses: { '2026-07-28': 'extensions/tasks 31' },
    right: 'The answers in `tasks/update` have the keys of questions of the task.',
    check: ({ kind, method, params, taskBefore, conversation }) => {
      if (kind !== 'request' || method !== Method.UpdateTask || conversation.isShared) return undefined;
      if (!taskBefore?.knowsQuestions) return undefined;
      const wrong = answeredKeys(params).find((key) => !taskBefore.questions.has(key));
      return wrong === undefined || `the key ${shown(wrong)}, which the task has not asked`;
    },
  }),
  onEvent('message', {
    id: 'task-answer-twice',
    area: 'tasks',
    severity: 'warning',
    clauses: { '2026-07-28': 'extensions/tasks 34' },
    right: 'A client answers each question of a task once.',
    check: ({ kind, method, params, taskBefore, conversation }) => {
      if (kind !== 'request' || method !== Method.UpdateTask || conversation.isShared || !taskBefore) return undefined;
      const twice = answeredKeys(params).find((key) => taskBefore.answered.has(key));
      return twice === undefined || `the key ${shown(twice)} again`;
    },
  }),
  onEvent('message', {
    id: 'task-result-shape',
    area: 'tasks',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, `${PAGE} 36,65`, 'extensions/tasks 54,55'),
    right:
      'The result of a task has the shape that its request requires, and its error has the shape of a JSON-RPC error.',
    check: (event) => {
      const { kind, from, result, about, schema, task, taskBefore } = event;
      const asked = about?.method;
      if (kind !== 'result' || (asked !== 'tasks/result' && asked !== Method.GetTask)) return undefined;
      const error: unknown = task?.status === 'failed' ? result['error'] : undefined;
      if (error !== undefined) return isError(error) || `the error ${shown(error)}`;
      const own = resultOfTask(event);
      const method = taskBefore?.origin?.method;
      if (!own || method === undefined || !schema) return undefined;
      // The result of a task has no type of its own.
      const typed = schema.has('ResultType') ? { resultType: 'complete', ...own } : own;
      return schema.checkResult(typed, { method }, otherSide(from)) ?? true;
    },
  }),
  onEvent('message', {
    id: 'task-result-changes',
    area: 'tasks',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, `${PAGE} 38`, 'extensions/tasks 55'),
    right: 'A task has the same result each time.',
    check: (event) => {
      const own = resultOfTask(event);
      const before = event.taskBefore?.outcome;
      if (!own || before === undefined) return undefined;
      const now = outcomeOf(own);
      return now === undefined ? undefined : now === before || `the result ${shown(own)}, and another one before`;
    },
  }),
  onEvent('message', {
    id: 'task-failed-result',
    area: 'tasks',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, `${PAGE} 64`),
    right: '`tasks/result` of a failed task returns an error, or a tool result with `isError`.',
    check: ({ kind, about, result, taskBefore }) => {
      if (kind !== 'result' || about?.method !== 'tasks/result' || taskBefore?.status !== 'failed') return undefined;
      return result['isError'] === true || 'a result without isError, after the status failed';
    },
  }),
];

function isError(error: unknown): boolean {
  return isObject(error) && Number.isInteger(error['code']) && typeof error['message'] === 'string';
}
