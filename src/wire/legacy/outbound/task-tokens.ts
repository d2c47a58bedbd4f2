import { isObject, type JsonObject, type RequestId } from '../../../jsonrpc/message.ts';
import type { Exchange, Session } from '../../../core/exchange.ts';

/** The most tasks of one server that can report progress at a time. Beyond this, the oldest no longer report. */
const MAX_TASKS = 1000;
const ENDED: ReadonlySet<unknown> = new Set(['completed', 'failed', 'cancelled']);

/** The caller that receives a task's progress, and the token for it. */
export interface TaskToken {
  readonly session: Session;
  /** The token that the caller gave. */
  readonly token: RequestId;
}

/**
 * The progress tokens of requests that were answered with a task. A token stays in use until its task has ended
 * (2025-11-25, basic/utilities/progress: Behavior Requirements, 3). A caller without a session cannot receive this
 * progress.
 */
export class TaskTokens {
  /** By task id, oldest first. */
  readonly #tokens = new Map<string, number>();
  /** By the token that the server got. */
  readonly #callers = new Map<unknown, TaskToken>();

  /** The caller and token for a progress token that the server got. */
  of(upstreamToken: unknown): TaskToken | undefined {
    return this.#callers.get(upstreamToken);
  }

  /** Reads a response of the server. It may begin a task, or say that one has ended. */
  answered({ method, params, caller }: Exchange, answer: JsonObject, upstreamToken?: number): void {
    if (method === 'tasks/result') return this.#end(params['taskId']);
    this.said(answer);
    const task: unknown = isObject(params['task']) ? answer['task'] : undefined;
    if (upstreamToken === undefined || !caller.session || !isObject(task) || typeof task['taskId'] !== 'string') return;
    if (ENDED.has(task['status'])) return;
    this.#end(task['taskId']);
    this.#tokens.set(task['taskId'], upstreamToken);
    this.#callers.set(upstreamToken, { session: caller.session, token: params['_meta'].progressToken });
    const [oldest] = this.#tokens.keys();
    if (this.#tokens.size > MAX_TASKS) this.#end(oldest);
  }

  /** Reads a task's status from a notification or a response. */
  said({ taskId, status }: JsonObject): void {
    if (ENDED.has(status)) this.#end(taskId);
  }

  #end(taskId: unknown): void {
    const token = this.#tokens.get(taskId as string);
    this.#tokens.delete(taskId as string);
    this.#callers.delete(token);
  }
}
