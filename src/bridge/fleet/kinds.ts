import { Method } from '../../protocol/methods.ts';

/** One kind of list. */
export interface ListKind {
  readonly method: string;
  /** The property of the result that holds the entries. */
  readonly key: string;
  /** The property that identifies an entry in requests. */
  readonly id: 'name' | 'uri' | 'uriTemplate' | 'taskId';
  /** The capability that a server with this list declares. */
  readonly capability: string;
}

export const TOOLS: ListKind = { method: Method.ListTools, key: 'tools', id: 'name', capability: 'tools' };
export const PROMPTS: ListKind = { method: Method.ListPrompts, key: 'prompts', id: 'name', capability: 'prompts' };

const KINDS: readonly ListKind[] = [
  TOOLS,
  PROMPTS,
  { method: Method.ListResources, key: 'resources', id: 'uri', capability: 'resources' },
  { method: Method.ListResourceTemplates, key: 'resourceTemplates', id: 'uriTemplate', capability: 'resources' },
  // 2025-11-25, basic/utilities/tasks: Listing Tasks.
  { method: 'tasks/list', key: 'tasks', id: 'taskId', capability: 'tasks' },
];

/** The lists that are merged, by their methods. */
export const LISTS: ReadonlyMap<string, ListKind> = new Map(KINDS.map((kind) => [kind.method, kind]));
