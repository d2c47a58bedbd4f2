import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import type { Exchange, Session } from '../../core/exchange.ts';
import { Recent } from '../recent.ts';

/** So many tasks are remembered, the ones that began last. */
const MAX_TASKS = 1000;

/**
 * Whose the tasks of one server are: what it says of them it says to the whole connection, which sessions may share
 * (2025-11-25, basic/utilities/tasks: Task Status Notification is for the requestor).
 */
export class TaskSessions {
  /** By the task's id. A caller without a session is not there any more to hear of its task. */
  readonly #sessions = new Recent<{ readonly session: Session | undefined }>(MAX_TASKS);

  /** Takes note of an answer of the server, which may begin a task. */
  answered({ params, caller: { session } }: Exchange, answer: JsonObject): void {
    const task: unknown = isObject(params['task']) ? answer['task'] : undefined;
    if (isObject(task) && typeof task['taskId'] === 'string') this.#sessions.add(task['taskId'], { session });
  }

  /** @param only the only session that listens, whose a task is of which nobody knows. */
  of(taskId: unknown, only: Session | undefined): Session | undefined {
    const known = this.#sessions.get(taskId);
    return known ? known.session : only;
  }
}
