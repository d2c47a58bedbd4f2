import {
  ALL,
  META,
  done,
  extension,
  modern,
  notice,
  prime,
  result,
  serverMeta,
  session,
  startTask,
  task,
  taskState,
  tasked,
  text,
  tool,
  web,
  withTask,
  type Modern,
} from './lint-conversations.ts';
import { rpc, type StdioScript, type WireScript } from './wire-script.ts';

type Json = Record<string, any>;

const ID = '0123456789abcdef';
const related = { [`${META}/related-task`]: { taskId: ID } };
const token = { name: 'add', task: {}, _meta: { progressToken: 't' } };

/** A task of 2025-11-25 whose progress has the token `t`. */
const withProgress = (): StdioScript =>
  tasked()
    .call('tools/list', {}, optional)
    .call('tools/call', token, { task: task('working') });
const optional = { tools: [tool({ execution: { taskSupport: 'optional' } })] };
const moved = (progressToken: string): Json =>
  notice('notifications/progress', { progressToken, progress: 1, _meta: related });
const asked = (status: string, more: Json = {}): StdioScript =>
  startTask(task('working')).call('tasks/get', { taskId: ID }, task(status, more));
const outcome = (value: Json): Json => ({ ...value, _meta: related });

/** A task of 2026-07-28. */
const begun = (): Modern =>
  modern().request(
    'tools/call',
    { name: 'add' },
    { _meta: serverMeta, resultType: 'task', ...state('working') },
    extension,
  );
const state = (status: string, more: Json = {}): Json => ({ ...task(status), ttlMs: 1, ...more });
const question = (message: string): Json => ({
  a: { method: 'elicitation/create', params: { message, requestedSchema: { type: 'object', properties: {} } } },
});
const elicits = { elicitation: {} };
const capable = {
  ...extension,
  [`${META}/clientCapabilities`]: { ...extension[`${META}/clientCapabilities`], ...elicits },
};
const asks = (script: Modern, message: string): Modern =>
  script.request(
    'tasks/get',
    { taskId: ID },
    done(state('input_required', { inputRequests: question(message) })),
    capable,
  );
const answers = (script: Modern, key: string): Modern =>
  script.request('tasks/update', { taskId: ID, inputResponses: { [key]: { action: 'decline' } } }, done(), extension);

/** Tasks of both revisions without a mistake. */
export const CLEAN_TASKS: Readonly<Record<string, () => WireScript>> = {
  'a task with progress and a result': () =>
    withProgress()
      .server(moved('t'))
      .call('tasks/get', { taskId: ID }, task('completed'))
      .call('tasks/result', { taskId: ID }, outcome(text))
      .call('tasks/result', { taskId: ID }, outcome(text))
      .end(),
  'a task with questions': () =>
    answers(asks(asks(begun(), 'Who are you?'), 'Who are you?'), 'a')
      .request('tasks/get', { taskId: ID }, done(state('completed', { result: text })), extension)
      .request('tasks/get', { taskId: ID }, done(state('completed', { result: text })), extension)
      .end(),
};

/** Seeds of the rules about tasks. */
export const TASK_SEEDS: Readonly<Record<string, () => WireScript>> = {
  'task-undeclared': () => session().client(rpc(1, 'tools/call', { name: 'add', task: {} })),
  'task-tool-support': () =>
    tasked()
      .call('tools/list', {}, { tools: [tool({ execution: { taskSupport: 'required' } })] })
      .client(rpc(1, 'tools/call', { name: 'add' })),
  'task-first-status': () => startTask(task('completed')),
  'task-status-order': () =>
    startTask(task('working'))
      .call('tasks/get', { taskId: ID }, task('completed'))
      .call('tasks/get', { taskId: ID }, task('working')),
  'task-related-superfluous': () =>
    startTask(task('working')).client(
      rpc(1, 'tasks/get', {
        taskId: ID,
        _meta: { [`${META}/related-task`]: { taskId: ID } },
      }),
    ),
  'task-result-related': () => startTask(task('working')).call('tasks/result', { taskId: ID }, text),
  'task-cancelled-status': () => startTask(task('working')).call('tasks/cancel', { taskId: ID }, task('working')),
  'task-id-guessable': () => startTask(task('working', { taskId: '1' })),
  'cancelled-task': () => startTask(task('working')).client(notice('notifications/cancelled', { requestId: 'call-2' })),
  'task-result-type': () =>
    modern().request(
      'tasks/get',
      { taskId: 't' },
      { _meta: serverMeta, resultType: 'task', taskId: ID, status: 'working' },
      extension,
    ),
  'task-state-content': () => taskState({ status: 'completed' }),
  'task-failed-tool-error': () =>
    taskState({ status: 'failed', statusMessage: 'no', error: { code: 1, message: '' }, result: {} }),
  'task-id-reused': () =>
    startTask(task('working')).call('tools/call', { name: 'add', task: {} }, { task: task('working') }),
  'task-failed-reason': () => asked('failed'),
  'task-get-stream': () =>
    web('2025-11-25', {}, { ...ALL, ...withTask }).exchange(
      { message: rpc(1, 'tasks/get', { taskId: ID }) },
      { frames: [prime(), result(1, task('working'))] },
    ),
  'task-progress-token': () =>
    withProgress()
      .client(rpc('u', 'tools/call', { name: 'add', _meta: { progressToken: 'u' } }))
      .server(moved('u')),
  'task-progress-after-end': () =>
    withProgress().call('tasks/get', { taskId: ID }, task('completed')).server(moved('t')),
  'task-question-key': () => asks(asks(begun(), 'Who are you?'), 'Where are you?'),
  'task-answer-unknown': () => answers(begun(), 'a'),
  'task-answer-twice': () => answers(answers(asks(begun(), 'Who are you?'), 'a'), 'a'),
  'task-result-shape': () => asked('completed').call('tasks/result', { taskId: ID }, outcome({ content: 'ok' })),
  'task-result-changes': () =>
    asked('completed')
      .call('tasks/result', { taskId: ID }, outcome(text))
      .call('tasks/result', { taskId: ID }, outcome({ content: [] })),
  'task-failed-result': () =>
    asked('failed', { statusMessage: 'no' }).call('tasks/result', { taskId: ID }, outcome(text)),
};
