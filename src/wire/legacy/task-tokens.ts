import { isObject, type JsonObject, type RequestId } from '../../jsonrpc/message.ts';
import type { Exchange, Session } from '../../core/exchange.ts';

/** Tasks of one server whose progress is passed on at a time; beyond them the oldest say nothing more. */
const MAX_TASKS = 1000;
const ENDED: ReadonlySet<unknown> = new Set(['completed', 'failed', 'cancelled']);

/** Whom the progress of a task is told, and under what token. */
export interface TaskToken {
  readonly session: Session;
  /** The token that the caller gave. */
  readonly token: RequestId;
}

/**
 * The progress tokens of requests that were answered with a task: they stay in use until the task has ended
 * (2025-11-25, basic/utilities/progress: Behavior Requirements, 3). A caller without a session is not there any more
 * to hear of it.
 */
export class TaskTokens {
  /** By the task's id, oldest first. */
  readonly #tokens = new Map<string, number>();
  /** By the token that the server was given. */
  readonly #callers = new Map<unknown, TaskToken>();

  /** Whose task has this token, which the server was given. */
  of(upstreamToken: unknown): TaskToken | undefined {
    return this.#callers.get(upstreamToken);
  }

  /** Takes note of an answer of the server: it may begin a task, or say that one has ended. */
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

  /** Takes note of what the server says of a task: in a notification, or in an answer about it. */
  said({ taskId, status }: JsonObject): void {
    if (ENDED.has(status)) this.#end(taskId);
  }

  #end(taskId: unknown): void {
    const token = this.#tokens.get(taskId as string);
    this.#tokens.delete(taskId as string);
    this.#callers.delete(token);
  }
}
