import { MAX_TIMER } from '../base/timer.ts';

/** How the calls of a tool become tasks (the tasks extension, `io.modelcontextprotocol/tasks`). */
export interface TaskConfig {
  /**
   * Whether the tool always requires a task. If true, callers that did not declare the extension are refused with
   * −32021 before the handler runs. If false, they wait for the result, as with any tool. Default false.
   */
  required?: boolean | undefined;
  /**
   * `at-once`: a call becomes a task before the handler runs. `by-handler`: the call is an ordinary request with
   * ordinary questions until the handler calls `Context.startTask`. Default `at-once`.
   */
  start?: 'at-once' | 'by-handler' | undefined;
  /**
   * Lifetime of a task, in milliseconds from its creation. A task that still runs then is ended. At most 24 days. null:
   * no limit; the task is kept as long as the store keeps it. Default 3 600 000, one hour.
   */
  ttlMs?: number | null | undefined;
  /**
   * How often callers should poll, in milliseconds. A young task asks for shorter intervals: they begin with 25 ms and
   * then equal its age, so a short task is soon known to have ended. Default 1000.
   */
  pollIntervalMs?: number | undefined;
}

export type TaskSettings = Required<TaskConfig>;

/** @throws TypeError if it is malformed. The message names `owner`. */
export function taskSettings(config: true | TaskConfig, owner: string): TaskSettings {
  const {
    required = false,
    start = 'at-once',
    ttlMs = 3_600_000,
    pollIntervalMs = 1000,
  } = config === true ? {} : config;
  if (start !== 'at-once' && start !== 'by-handler') {
    throw new TypeError(`${owner}: task.start must be "at-once" or "by-handler"`);
  }
  if (ttlMs !== null && !isDuration(ttlMs)) {
    throw new TypeError(`${owner}: task.ttlMs must be null or a whole number of milliseconds from 1 to ${MAX_TIMER}`);
  }
  if (!isDuration(pollIntervalMs)) {
    throw new TypeError(`${owner}: task.pollIntervalMs must be a whole number of milliseconds from 1 to ${MAX_TIMER}`);
  }
  return { required, start, ttlMs, pollIntervalMs };
}

function isDuration(value: number): boolean {
  return Number.isInteger(value) && value > 0 && value <= MAX_TIMER;
}
