/** The vocabulary of the tasks extension, `io.modelcontextprotocol/tasks`. */
import type { ErrorObject, JsonObject } from '../jsonrpc/message.ts';
import { isObject } from '../jsonrpc/message.ts';

/** The name of the extension in capabilities (tasks extension: Extension Identifier). */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** The status of a task. `completed`, `failed` and `cancelled` are final (tasks extension: Task Status). */
export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

/** A task on the wire, without its result (tasks extension: Tasks). */
export interface Task {
  taskId: string;
  status: TaskStatus;
  /** A message for users or models. */
  statusMessage?: string;
  /** ISO 8601, as is `lastUpdatedAt`. */
  createdAt: string;
  lastUpdatedAt: string;
  /** Milliseconds after its creation until it may be deleted. Null: no limit. */
  ttlMs: number | null;
  /** Milliseconds that a client should wait between two `tasks/get`. */
  pollIntervalMs?: number;
}

/**
 * A task with the members of its status, as in `tasks/get` and `notifications/tasks` (tasks extension: Task Status).
 */
export interface DetailedTask extends Task {
  /** The open questions by their keys, to be answered with `tasks/update`. Only if the status is `input_required`. */
  inputRequests?: JsonObject;
  /** The result of the call. Only if the status is `completed`. */
  result?: JsonObject;
  /** The error of the call. Only if the status is `failed`. */
  error?: ErrorObject;
}

/** Whether a task has ended. */
export function isTerminal(status: string | undefined): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

/** Whether the capabilities of a client or server include the extension (tasks extension: Capability Negotiation). */
export function declaresTasks({ extensions }: JsonObject): boolean {
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
}
