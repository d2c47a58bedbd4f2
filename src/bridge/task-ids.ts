import { quoting } from '../base/short-text.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { inside, put } from '../jsonrpc/shape.ts';

/** Names a task that a message belongs to (2025-11-25, basic/utilities/tasks: Related Task Metadata). */
const RELATED_TASK = 'io.modelcontextprotocol/related-task';

/**
 * Replaces the task ids in a result or in the parameters of a notification: of a task, of the task that was created
 * (2025-11-25: `task`), and of the task that the message belongs to. Returns the same object if nothing changes.
 */
export function replaceTaskIds(message: JsonObject, replace: (id: string) => string): JsonObject {
  const own = replaceKey('taskId', replace);
  return own(inside(replaceRelatedTask(message, replace), 'task', own));
}

/** Replaces the id of the task that a message belongs to. */
export function replaceRelatedTask(message: JsonObject, replace: (id: string) => string): JsonObject {
  const meta: unknown = message['_meta'];
  if (!isObject(meta) || !isObject(meta[RELATED_TASK])) return message;
  return inside(message, '_meta', (all) => inside(all, RELATED_TASK, replaceKey('taskId', replace)));
}

/** The ids that one of these functions replaces. */
export function idsIn(replace: typeof replaceTaskIds, message: JsonObject): string[] {
  const ids: string[] = [];
  replace(message, (id) => {
    ids.push(id);
    return id;
  });
  return ids;
}

/** The id of the task that a question belongs to. */
export function relatedTask(params: JsonObject): string | undefined {
  return idsIn(replaceRelatedTask, params)[0];
}

/** @throws RpcError if a question is about a task that its client does not know. */
export function checkRelatedTask(question: string, params: JsonObject, knows: (id: string) => boolean): void {
  if (!idsIn(replaceRelatedTask, params).every(knows))
    throw new RpcError(ErrorCode.InvalidRequest, quoting`${question} was not asked: the client has no such task`);
}

/** A function that replaces one string of an object. */
export function replaceKey(key: string, replace: (value: string) => string): (object: JsonObject) => JsonObject {
  return (object) => {
    const value: unknown = object[key];
    return typeof value === 'string' ? put(object, key, replace(value)) : object;
  };
}
