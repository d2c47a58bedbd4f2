import { isObject, type JsonObject } from '../../../jsonrpc/message.ts';
import type { Exchange, Session } from '../../../core/exchange.ts';
import { Recent } from '../../../base/recent.ts';

/** The most tasks that are remembered. The oldest are forgotten first. */
const MAX_TASKS = 1000;

/**
 * Remembers which session each task of a server belongs to. The server sends task status notifications to the whole
 * connection, which sessions may share (2025-11-25, basic/utilities/tasks: Task Status Notification is for the
 * requestor).
 */
export class TaskSessions {
  /** Sessions by task id. A caller without a session cannot receive notifications about its task. */
  readonly #sessions = new Recent<{ readonly session: Session | undefined }>(MAX_TASKS);

  /** Reads a response of the server, which may begin a task. */
  answered({ params, caller: { session } }: Exchange, answer: JsonObject): void {
    const task: unknown = isObject(params['task']) ? answer['task'] : undefined;
    if (isObject(task) && typeof task['taskId'] === 'string') this.#sessions.add(task['taskId'], { session });
  }

  /** @param only the only listening session. It gets notifications about unknown tasks. */
  of(taskId: unknown, only: Session | undefined): Session | undefined {
    const known = this.#sessions.get(taskId);
    return known ? known.session : only;
  }
}
