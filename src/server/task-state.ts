import type { JsonObject } from '../jsonrpc/message.ts';
import { isTerminal, type DetailedTask, type Task } from '../protocol/tasks.ts';
import type { TaskRecord } from '../store/task-store.ts';

/** The shortest interval at which callers are asked to poll, in milliseconds. A task begins with it. */
const FIRST_INTERVAL = 25;

/** The result that a call returns when it becomes a task (tasks extension: Task Creation). */
export function created(record: TaskRecord): JsonObject {
  return { resultType: 'task', ...base(record) };
}

/** A task as its owner sees it. */
export function detailed(record: TaskRecord): DetailedTask {
  const { inputRequests, result, error } = record;
  return {
    ...base(record),
    ...(inputRequests === undefined ? {} : { inputRequests }),
    ...(result === undefined ? {} : { result }),
    ...(error === undefined ? {} : { error }),
  };
}

function base(record: TaskRecord): Task {
  const { id, status, statusMessage, createdAt, lastUpdatedAt, ttlMs } = record;
  return {
    taskId: id,
    status,
    ...(statusMessage === undefined ? {} : { statusMessage }),
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(lastUpdatedAt).toISOString(),
    ttlMs,
    pollIntervalMs: intervalOf(record),
  };
}

/**
 * The interval may change over the lifetime of a task (tasks extension: Task Polling). It is the age of the task, within
 * limits. So the wait of a caller doubles from poll to poll, and a short task does not wait for the full interval.
 */
function intervalOf({ status, createdAt, pollIntervalMs }: TaskRecord): number {
  if (isTerminal(status)) return pollIntervalMs;
  const age = Date.now() - createdAt;
  // If the clock was set back, the age of the task is unknown.
  return age < 0 ? pollIntervalMs : Math.min(Math.max(age, FIRST_INTERVAL), pollIntervalMs);
}
