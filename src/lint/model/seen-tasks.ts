import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { canonicalJson, without } from '../../jsonrpc/shape.ts';
import { Method, NotificationMethod } from '../../protocol/methods.ts';
import { otherSide, type SeenRequest, type Side } from './requests.ts';

/** The key of `_meta` that names the task of a message in 2025-11-25. */
export const RELATED_TASK = 'io.modelcontextprotocol/related-task';

/** A task that was seen. It is never changed: what is known later is another object. */
export interface SeenTask {
  /** The last status that was seen. */
  readonly status: string | undefined;
  /** The request that was answered with the task. Undefined if this was not seen. */
  readonly origin: SeenRequest | undefined;
  /** The JSON of its questions by their keys, and the keys of those whose answers were accepted. */
  readonly questions: ReadonlyMap<string, string>;
  readonly answered: ReadonlySet<string>;
  /** Whether all of its questions are in memory. */
  readonly knowsQuestions: boolean;
  /** The JSON of its result, without `_meta`. Undefined if none was seen, or if it is long. */
  readonly outcome: string | undefined;
}

/** The most tasks that are remembered, and the most questions of each. */
const MAX_TASKS = 1000;
const MAX_QUESTIONS = 20;
/** The longest JSON of a question or a result that is remembered. UTF-16 code units. */
const MAX_JSON = 4 * 1024;

const ABOUT_TASKS: ReadonlySet<string> = new Set([
  Method.GetTask,
  Method.UpdateTask,
  Method.CancelTask,
  'tasks/result',
]);

const UNKNOWN: SeenTask = {
  status: undefined,
  origin: undefined,
  questions: new Map(),
  answered: new Set(),
  knowsQuestions: false,
  outcome: undefined,
};

/** What is known about a message. */
interface Seen {
  readonly kind: 'request' | 'notification' | 'result' | 'error';
  readonly from: Side;
  readonly method: string;
  readonly params: JsonObject;
  readonly meta: JsonObject;
  readonly result: JsonObject;
  readonly about: SeenRequest | undefined;
  readonly task: { readonly taskId: string; readonly status: string } | undefined;
}

/** The tasks of a conversation. Both sides may run some. */
export class SeenTasks {
  readonly #byKey = new Map<string, SeenTask>();

  /** The task that a message is about, as it was known before. */
  of(seen: Seen): SeenTask | undefined {
    const key = keyOf(seen);
    return key === undefined ? undefined : this.#byKey.get(key);
  }

  /** Remembers what a message says about its task. */
  learn(seen: Seen): void {
    const key = keyOf(seen);
    if (key === undefined) return;
    const known = this.#byKey.get(key);
    const next = taskAfter(known, seen);
    if (next && next !== known && (this.#byKey.size < MAX_TASKS || known)) this.#byKey.set(key, next);
  }

  clear(): void {
    this.#byKey.clear();
  }
}

/** Whether a result is a new task. */
export function isNewTask({ resultType, task }: JsonObject): boolean {
  return resultType === 'task' || isObject(task);
}

/** The JSON of a result, by which it is compared. */
export function outcomeOf(result: JsonObject): string | undefined {
  const json = canonicalJson(without(result, ['_meta']));
  return json.length <= MAX_JSON ? json : undefined;
}

/** The result of a task in a message: that of `tasks/result`, or a member of the state of a task that has completed. */
export function resultOfTask({ kind, about, task, params, result }: Seen): JsonObject | undefined {
  if (kind === 'result' && about?.method === 'tasks/result') return result;
  if (task?.status !== 'completed') return undefined;
  const member: unknown = (kind === 'result' ? result : params)['result'];
  return isObject(member) ? member : undefined;
}

/** The open questions in the state of a task. */
export function questionsOfTask({ kind, task, params, result }: Seen): readonly (readonly [string, unknown])[] {
  const asked: unknown = task && (kind === 'result' ? result : params)['inputRequests'];
  return isObject(asked) ? Object.entries(asked) : [];
}

/** The answers in a `tasks/update`. */
export function answeredKeys(params: JsonObject | undefined): readonly string[] {
  return isObject(params?.['inputResponses']) ? Object.keys(params['inputResponses']) : [];
}

function keyOf({ kind, from, method, params, meta, about, task }: Seen): string | undefined {
  if (task) return `${from} ${task.taskId}`;
  if (kind === 'request') return ABOUT_TASKS.has(method) ? named(otherSide(from), params['taskId']) : undefined;
  if (kind === 'result')
    return ABOUT_TASKS.has(about?.method ?? '') ? named(from, about!.params?.['taskId']) : undefined;
  if (method !== NotificationMethod.Progress) return undefined;
  return named(from, isObject(meta[RELATED_TASK]) ? meta[RELATED_TASK]['taskId'] : about?.taskId);
}

function named(runner: Side, id: unknown): string | undefined {
  return typeof id === 'string' ? `${runner} ${id}` : undefined;
}

function taskAfter(known: SeenTask = UNKNOWN, seen: Seen): SeenTask | undefined {
  const { kind, about, result, task } = seen;
  let next = known;
  if (task) {
    const isNew = kind === 'result' && isNewTask(result);
    const origin = isNew ? about : known.origin;
    next = { ...next, status: task.status, origin, knowsQuestions: isNew || known.knowsQuestions };
  }
  for (const [key, question] of questionsOfTask(seen)) {
    const json = canonicalJson(question);
    if (next.questions.get(key) === json) continue;
    if (next.questions.size >= MAX_QUESTIONS || json.length > MAX_JSON || key.length > MAX_JSON)
      next = { ...next, knowsQuestions: false };
    else next = { ...next, questions: new Map(next.questions).set(key, json) };
  }
  const own = resultOfTask(seen);
  if (own && next.outcome === undefined) next = { ...next, outcome: outcomeOf(own) };
  if (kind === 'result' && about?.method === Method.UpdateTask) {
    const keys = answeredKeys(about.params).filter((key) => next.questions.has(key));
    if (keys.length > 0) next = { ...next, answered: new Set([...next.answered, ...keys]) };
  }
  return next === UNKNOWN ? undefined : next;
}
