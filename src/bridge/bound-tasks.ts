import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { kindOf, type Target } from '../client/target.ts';
import { derive } from '../core/derive.ts';
import type { Exchange, Middleware, Service } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, isStrings, type JsonObject } from '../jsonrpc/message.ts';
import { inside, put, without } from '../jsonrpc/shape.ts';
import { isNotificationMethod, Method, NotificationMethod } from '../protocol/methods.ts';
import { checkStateKey } from '../base/state-key.ts';
import { refuseVariants } from './exact-keys.ts';
import { KnownTasks } from './known-tasks.ts';
import { serverNameOf } from './server-name.ts';
import { checkRelatedTask, idsIn, replaceRelatedTask, replaceTaskIds } from './task-ids.ts';

export interface BoundTasksOptions {
  readonly target: Target;
  readonly stateKey: string | Uint8Array | undefined;
  /** Whether several clients share a connection. A notification of the server may then be for any of them. */
  readonly shared: boolean;
}

/** Of how many tasks it is known who has them. */
const MAX_KNOWN = 10_000;
const MAC_BYTES = 16;
/** The length of a dot and a MAC in base64url. */
const MAC_LENGTH = 23;

/**
 * Binds each task id to the principal that gets it. A server sees all clients of a bridge as one caller, so it would
 * return a task to every client that knows its id. The id that a client gets ends with a MAC. Only the principal whose request
 * created the task gets it, and hears of the task, so nobody learns an id of another principal's task that works.
 * Callers without a principal get the ids unchanged.
 */
export function bindTasks(options: BoundTasksOptions): Middleware {
  checkStateKey(options.stateKey);
  // Each client has its own process, so no other client can use its task ids.
  if (kindOf(options.target) === 'command' && !options.shared) return (next) => next;
  const tasks = new BoundTasks(options);
  return (next) => (exchange) => {
    const { principal } = exchange.caller;
    if (principal === undefined || isNotificationMethod(exchange.method)) return next(exchange);
    return tasks.answer(exchange, principal, next);
  };
}

class BoundTasks {
  readonly #key: Buffer;
  /** Bound into the MAC, so that the id of one server's task is refused for another server. */
  readonly #server: string;
  /** The tasks that principals have got or named lately, by their MACs. */
  readonly #known = new KnownTasks(MAX_KNOWN);

  constructor({ target, stateKey }: BoundTasksOptions) {
    const secret = stateKey ?? randomBytes(32);
    this.#key = createHash('sha256').update('everwire tasks').update(secret).digest();
    this.#server = serverNameOf(target);
  }

  async answer(exchange: Exchange, principal: string, next: Service): Promise<JsonObject> {
    const { method } = exchange;
    // The server would list the tasks of all clients.
    if (method === 'tasks/list') throw new RpcError(ErrorCode.MethodNotFound, `Method not found: ${method}`);
    /** The tasks that the request names. It hears of them, even if they are no longer among the newest. */
    const named = new Set<string>();
    const params = inward(exchange, (bound) => {
      const id = this.#open(bound, principal);
      if (id !== undefined) named.add(id);
      return id;
    });
    const knows = (id: string): boolean => named.has(id) || this.#known.has(principal, this.#mac(id, principal));
    const result = await next(this.#bound(exchange, params, principal, knows));
    const created = createdBy(result);
    if (created !== undefined) this.#known.add(principal, this.#mac(created, principal));
    const bind = (id: string): string => (knows(id) ? this.#bind(id, principal) : id);
    return replaceTaskIds(method === Method.Discover ? withoutTaskList(result) : result, bind);
  }

  /**
   * The exchange that the server gets, with the server's own ids.
   *
   * @param knows whether the principal may hear of a task. The server may send a message about another client's task.
   */
  #bound(exchange: Exchange, params: JsonObject, principal: string, knows: (id: string) => boolean): Exchange {
    const bind = (id: string): string => this.#bind(id, principal);
    return derive(exchange, {
      params,
      notify: (name, noticeParams) => {
        if (!noticeParams) return exchange.notify(name);
        // The status of a task is sent only to the session that created it (`TaskOwners`).
        if (name !== NotificationMethod.TaskStatus && !idsIn(replaceTaskIds, noticeParams).every(knows))
          return Promise.resolve();
        const shown =
          name === NotificationMethod.Acknowledged ? inFilter(noticeParams, (ids) => ids.map(bind)) : noticeParams;
        return exchange.notify(name, replaceTaskIds(shown, bind));
      },
      ask: async (question, questionParams, options) => {
        checkRelatedTask(question, questionParams, knows);
        const answer = await exchange.ask(question, replaceRelatedTask(questionParams, bind), options);
        return replaceRelatedTask(answer, (bound) => this.#open(bound, principal) ?? bound);
      },
    });
  }

  #mac(id: string, principal: string): string {
    const mac = createHmac('sha256', this.#key)
      .update(JSON.stringify([this.#server, principal, id]))
      .digest();
    return mac.subarray(0, MAC_BYTES).toString('base64url');
  }

  #bind(id: string, principal: string): string {
    return `${id}.${this.#mac(id, principal)}`;
  }

  /** The server's own id. Undefined if this principal did not get the id. */
  #open(bound: string, principal: string): string | undefined {
    const id = bound.slice(0, -MAC_LENGTH);
    const mac = this.#mac(id, principal);
    const [given, right] = [Buffer.from(bound), Buffer.from(`${id}.${mac}`)];
    if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
    this.#known.add(principal, mac);
    return id;
  }
}

type Own = (bound: string) => string | undefined;

/**
 * The parameters for the server.
 *
 * @throws RpcError −32602 if a task belongs to another principal or never existed, or if a key is not spelled exactly
 * as in the specification.
 */
function inward({ method, params }: Exchange, own: Own): JsonObject {
  refuseVariants(params, 'taskId');
  if (method === Method.Listen) {
    checkFilter(params);
    return inFilter(params, (ids) => ids.map(own).filter((id) => id !== undefined));
  }
  if (params['taskId'] !== undefined && typeof params['taskId'] !== 'string')
    throw new RpcError(ErrorCode.InvalidParams, '"taskId" must be a string');
  const known = (bound: string): string => {
    const id = own(bound);
    if (id !== undefined) return id;
    throw new RpcError(ErrorCode.InvalidParams, 'Task not found: there is no task with this id, or it has expired');
  };
  return replaceTaskIds(params, known);
}

/** @throws RpcError −32602 if the filter of a subscription contains tasks in another form than a list of strings. */
function checkFilter(params: JsonObject): void {
  refuseVariants(params, 'notifications');
  const filter: unknown = params['notifications'];
  if (!isObject(filter)) return;
  refuseVariants(filter, 'taskIds');
  const ids: unknown = filter['taskIds'];
  if (ids !== undefined && !isStrings(ids))
    throw new RpcError(ErrorCode.InvalidParams, '"taskIds" must be a list of strings');
}

/** Replaces the task ids in the filter of a subscription. */
function inFilter(params: JsonObject, replace: (ids: string[]) => string[]): JsonObject {
  return inside(params, 'notifications', (filter) => {
    const ids: unknown = filter['taskIds'];
    if (!Array.isArray(ids)) return filter;
    return put(filter, 'taskIds', replace(ids.filter((id) => typeof id === 'string')));
  });
}

/** The id of the task that a request has created (2025-11-25: `task`, 2026-07-28: `resultType`). */
function createdBy({ task, resultType, taskId }: JsonObject): string | undefined {
  const id: unknown = resultType === 'task' ? taskId : isObject(task) ? task['taskId'] : undefined;
  return typeof id === 'string' ? id : undefined;
}

/** A server description that does not offer the list of tasks (2025-11-25, basic/utilities/tasks: Capabilities). */
function withoutTaskList(description: JsonObject): JsonObject {
  return inside(description, 'capabilities', (all) => inside(all, 'tasks', (tasks) => without(tasks, ['list'])));
}
