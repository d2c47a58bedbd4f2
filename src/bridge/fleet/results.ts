import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { needsInput } from '../../core/rounds.ts';
import { Method } from '../../protocol/methods.ts';
import { each, inside, put } from '../../jsonrpc/shape.ts';
import { stateOf, taskIdOf } from './ids.ts';
import type { Naming } from './names.ts';

/** Names a task that a message belongs to (2025-11-25, basic/utilities/tasks: Related Task Metadata). */
const RELATED_TASK = 'io.modelcontextprotocol/related-task';

/** Converts the ids of one server to ids for clients. */
export interface Renaming {
  readonly uri: (uri: string) => string;
  readonly taskId: (id: string) => string;
  /** Undefined if the server gave no state. */
  readonly state: (state: string | undefined) => string;
}

/** The converter for one server's ids. */
export function renamingFor(member: { readonly label: string }, naming: Naming): Renaming {
  return {
    uri: (uri) => naming.outwardUri(member, uri),
    taskId: (id) => taskIdOf(member.label, id),
    state: (state) => stateOf(member.label, state),
  };
}

type Rename = (value: JsonObject) => JsonObject;

/**
 * A result for clients: URIs of resources, task ids and `requestState` name their server. Text and structured content
 * stay as they are. Returns the same object if there is nothing to change.
 */
export function renameResult(result: JsonObject, method: string, renaming: Renaming): JsonObject {
  const renamed = renameTask(renameMeta(result, renaming.taskId), renaming);
  if (needsInput(renamed)) {
    const { requestState } = renamed;
    if (requestState !== undefined && typeof requestState !== 'string') return renamed;
    return { ...renamed, requestState: renaming.state(requestState) };
  }
  if (method === Method.ReadResource)
    return put(renamed, 'contents', each(renamed['contents'], byKey('uri', renaming.uri)));
  return renameContent(renamed, renaming);
}

/** The parameters of a notification for clients. */
export function renameNotice(params: JsonObject, renaming: Renaming): JsonObject {
  return renameTask(renameMeta(params, renaming.taskId), renaming);
}

/** Renames the task that a message belongs to. */
export function renameMeta(params: JsonObject, taskId: (id: string) => string): JsonObject {
  const meta: unknown = params['_meta'];
  if (!isObject(meta) || !isObject(meta[RELATED_TASK])) return params;
  return inside(params, '_meta', (all) => inside(all, RELATED_TASK, byKey('taskId', taskId)));
}

/** A task, the result that created one (2025-11-25: `task`), or its outcome (the tasks extension: `result`). */
function renameTask(holder: JsonObject, renaming: Renaming): JsonObject {
  const rename = byKey('taskId', renaming.taskId);
  if (isObject(holder['task'])) return inside(holder, 'task', rename);
  if (typeof holder['taskId'] !== 'string') return holder;
  return inside(rename(holder), 'result', (result) => renameContent(result, renaming));
}

/** A tool result has content blocks. A prompt has messages with one block each. */
function renameContent(result: JsonObject, { uri }: Renaming): JsonObject {
  const block: Rename = (value) => {
    if (value['type'] === 'resource_link') return byKey('uri', uri)(value);
    return value['type'] === 'resource' ? inside(value, 'resource', byKey('uri', uri)) : value;
  };
  const content = each(result['content'], block);
  const messages = each(result['messages'], (message) => inside(message, 'content', block));
  return put(put(result, 'content', content), 'messages', messages);
}

function byKey(key: string, rename: (value: string) => string): Rename {
  return (object) => {
    const value: unknown = object[key];
    return typeof value === 'string' ? put(object, key, rename(value)) : object;
  };
}
