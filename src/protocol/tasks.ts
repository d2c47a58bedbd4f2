/** The vocabulary of the tasks extension, `io.modelcontextprotocol/tasks`. */
import type { ErrorObject, JsonObject } from '../jsonrpc/message.ts';
import { isObject } from '../jsonrpc/message.ts';

/** What the extension is called among capabilities (tasks extension: Extension Identifier). */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** The status of a task. `completed`, `failed` and `cancelled` are final (tasks extension: Task Status). */
export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

/** A task on the wire, without its result (tasks extension: Tasks). */
export interface Task {
  taskId: string;
  status: TaskStatus;
  /** For people or models. */
  statusMessage?: string;
  /** ISO 8601, as is `lastUpdatedAt`. */
  createdAt: string;
  lastUpdatedAt: string;
  /** Milliseconds from its creation after which it may be gone; null for no such bound. */
  ttlMs: number | null;
  /** Milliseconds that a client should leave between two `tasks/get`. */
  pollIntervalMs?: number;
}

/** A task with the members of its status, as in `tasks/get` and `notifications/tasks` (tasks extension: Task Status). */
export interface DetailedTask extends Task {
  /** The questions that wait for answers by `tasks/update`, by their keys; of `input_required` alone. */
  inputRequests?: JsonObject;
  /** What the call returned; of `completed` alone. */
  result?: JsonObject;
  /** What the call was refused with; of `failed` alone. */
  error?: ErrorObject;
}

/** Whether a task has ended. */
export function isTerminal(status: TaskStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

/** Whether capabilities, of either side, name the extension (tasks extension: Capability Negotiation). */
export function declaresTasks({ extensions }: JsonObject): boolean {
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
}
