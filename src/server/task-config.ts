/** How the calls of a tool become tasks (the tasks extension, `io.modelcontextprotocol/tasks`). */
export interface TaskConfig {
  /**
   * Whether the tool works as a task only. Callers that did not declare the extension are then refused with −32021, before
   * the handler runs; without it they wait for the result, as for that of any tool. Default false.
   */
  required?: boolean | undefined;
  /**
   * `at-once`: a call becomes a task before the handler runs. `by-handler`: it is an ordinary request, and its questions go
   * to the caller as ordinary ones, until the handler calls `Context.startTask`, if it does. Default `at-once`.
   */
  start?: 'at-once' | 'by-handler' | undefined;
  /**
   * Milliseconds from its creation for which a task is kept. One that is not over by then is given up. At most 24 days;
   * null for no such bound: a task is then kept for as long as the store keeps it. Default 3 600 000, an hour.
   */
  ttlMs?: number | null | undefined;
  /** Milliseconds that callers should leave between two looks. Default 1000. */
  pollIntervalMs?: number | undefined;
}

export type TaskSettings = Required<TaskConfig>;

/** Timers take no longer ones. */
const MAX_TTL = 2 ** 31 - 1;

/** @throws TypeError where it is malformed; `owner` is how the message names whose it is. */
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
    throw new TypeError(`${owner}: task.ttlMs must be null or a whole number of milliseconds from 1 to ${MAX_TTL}`);
  }
  if (!isDuration(pollIntervalMs)) {
    throw new TypeError(`${owner}: task.pollIntervalMs must be a whole number of milliseconds from 1 to ${MAX_TTL}`);
  }
  return { required, start, ttlMs, pollIntervalMs };
}

function isDuration(value: number): boolean {
  return Number.isInteger(value) && value > 0 && value <= MAX_TTL;
}
