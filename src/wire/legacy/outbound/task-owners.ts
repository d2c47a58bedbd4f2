import { isObject, type JsonObject, type RequestId } from '../../../jsonrpc/message.ts';
import type { Exchange, Session } from '../../../core/exchange.ts';
import { Recent } from '../../../base/recent.ts';

/** The most tasks that are remembered. The oldest are forgotten first. */
const MAX_TASKS = 1000;
/** The longest task id and progress token that are remembered, in characters. A peer may choose ones of megabytes. */
const MAX_ID = 1024;
const ENDED: ReadonlySet<unknown> = new Set(['completed', 'failed', 'cancelled']);

/** The session that receives a task's progress, and the progress token that its caller gave. */
export interface TaskToken {
  readonly session: Session;
  readonly token: RequestId;
}

/**
 * Remembers which session each task of a server belongs to. The server sends status notifications to the whole
 * connection, which sessions may share (2025-11-25, basic/utilities/tasks: Task Status Notification is for the
 * requestor). The progress token of the request that created a task stays in use until the task has ended (2025-11-25,
 * basic/utilities/progress: Behavior Requirements, 3). A caller without a session receives neither status nor progress.
 */
export class TaskOwners {
  /** By task id. */
  readonly #tasks = new Recent<{ readonly session: Session | undefined; readonly token: RequestId | undefined }>(
    MAX_TASKS,
  );
  /** By the progress token that was sent to the server. */
  readonly #tokens = new Recent<TaskToken>(MAX_TASKS);

  /** Reads a response of the server. It may create a task, or show that a task has ended. */
  answered({ method, params, caller: { session } }: Exchange, answer: JsonObject, upstreamToken?: RequestId): void {
    if (method === 'tasks/result') return this.#end(params['taskId']);
    this.status(answer);
    const task: unknown = isObject(params['task']) ? answer['task'] : undefined;
    if (!isObject(task) || typeof task['taskId'] !== 'string' || isLong(task['taskId'])) return;
    this.#tasks.add(task['taskId'], { session, token: upstreamToken });
    if (upstreamToken === undefined || !session || ENDED.has(task['status'])) return;
    const token: RequestId = params['_meta'].progressToken;
    if (!isLong(token)) this.#tokens.add(upstreamToken, { session, token });
  }

  /** Reads a task's status from a notification or a response. */
  status({ taskId, status }: JsonObject): void {
    if (ENDED.has(status)) this.#end(taskId);
  }

  /** Undefined for an unknown task: a server may see several bridges, or sessions of one, as one caller, and send it to all. */
  sessionOf(taskId: unknown): Session | undefined {
    return isLong(taskId) ? undefined : this.#tasks.get(taskId)?.session;
  }

  /** The session and its token for a progress token that was sent to the server. */
  ofToken(upstreamToken: unknown): TaskToken | undefined {
    return this.#tokens.get(upstreamToken);
  }

  #end(taskId: unknown): void {
    this.#tokens.take(this.#tasks.get(taskId)?.token);
  }
}

function isLong(id: unknown): boolean {
  return typeof id === 'string' && id.length > MAX_ID;
}
