import { Method, Notice } from '../../protocol/methods.ts';
import type { SubscriptionFilter } from '../../protocol/types.ts';

/** What a list is of. */
export interface ListKind {
  readonly method: string;
  /** The property of the result that holds the entries. */
  readonly key: string;
  /** The property of an entry by which it is asked for. */
  readonly id: string;
  /** The capability that a server has who has the list. */
  readonly capability: string;
}

export const TOOLS: ListKind = { method: Method.ListTools, key: 'tools', id: 'name', capability: 'tools' };
export const PROMPTS: ListKind = { method: Method.ListPrompts, key: 'prompts', id: 'name', capability: 'prompts' };
export const RESOURCES: ListKind = {
  method: Method.ListResources,
  key: 'resources',
  id: 'uri',
  capability: 'resources',
};
export const TEMPLATES: ListKind = {
  method: Method.ListResourceTemplates,
  key: 'resourceTemplates',
  id: 'uriTemplate',
  capability: 'resources',
};
/** 2025-11-25, basic/utilities/tasks: Listing Tasks. */
const TASKS: ListKind = { method: 'tasks/list', key: 'tasks', id: 'taskId', capability: 'tasks' };

/** The lists that are merged, by their methods. */
export const LISTS: ReadonlyMap<string, ListKind> = new Map(
  [TOOLS, PROMPTS, RESOURCES, TEMPLATES, TASKS].map((kind) => [kind.method, kind]),
);

type Flag = keyof SubscriptionFilter & `${string}ListChanged`;

/** The lists whose changes can be listened to: how a filter has them, what is said then, and what has changed. */
export const CHANGES: readonly {
  readonly flag: Flag;
  readonly notice: string;
  readonly capability: string;
  readonly kinds: readonly ListKind[];
}[] = [
  { flag: 'toolsListChanged', notice: Notice.ToolsListChanged, capability: 'tools', kinds: [TOOLS] },
  { flag: 'promptsListChanged', notice: Notice.PromptsListChanged, capability: 'prompts', kinds: [PROMPTS] },
  {
    flag: 'resourcesListChanged',
    notice: Notice.ResourcesListChanged,
    capability: 'resources',
    kinds: [RESOURCES, TEMPLATES],
  },
];
