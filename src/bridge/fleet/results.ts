import type { JsonObject } from '../../jsonrpc/message.ts';
import { needsInput } from '../../core/rounds.ts';
import { Method } from '../../protocol/methods.ts';
import { each, inside, put } from '../../jsonrpc/shape.ts';
import { replaceKey, replaceTaskIds } from '../task-ids.ts';
import { stateOf, taskIdOf } from './ids.ts';
import type { Naming } from './names.ts';

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
  const renamed = renameNotice(result, renaming);
  if (needsInput(renamed)) {
    const { requestState } = renamed;
    if (requestState !== undefined && typeof requestState !== 'string') return renamed;
    return { ...renamed, requestState: renaming.state(requestState) };
  }
  if (method === Method.ReadResource)
    return put(renamed, 'contents', each(renamed['contents'], replaceKey('uri', renaming.uri)));
  return renameContent(renamed, renaming);
}

/** The parameters of a notification for clients. It may have a task with its outcome (the tasks extension: `result`). */
export function renameNotice(holder: JsonObject, renaming: Renaming): JsonObject {
  const renamed = replaceTaskIds(holder, renaming.taskId);
  if (typeof renamed['taskId'] !== 'string') return renamed;
  return inside(renamed, 'result', (result) => renameContent(result, renaming));
}

/** A tool result has content blocks. A prompt has messages with one block each. */
function renameContent(result: JsonObject, { uri }: Renaming): JsonObject {
  const block: Rename = (value) => {
    if (value['type'] === 'resource_link') return replaceKey('uri', uri)(value);
    return value['type'] === 'resource' ? inside(value, 'resource', replaceKey('uri', uri)) : value;
  };
  const content = each(result['content'], block);
  const messages = each(result['messages'], (message) => inside(message, 'content', block));
  return put(put(result, 'content', content), 'messages', messages);
}
