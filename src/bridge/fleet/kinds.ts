import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
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

/** Keys of `_meta` that are ours. */
export const FleetMeta = {
  /** Of a list: the names of the servers that it comes without, for they did not answer. */
  Missing: 'dev.everwire/missing',
  /** Of a request that no rule leads to a server: the name of the one that it is for. */
  Server: 'dev.everwire/server',
} as const;

/** Capabilities are not nested deeper; what is, is taken from the first server that has it. */
const MAX_DEPTH = 8;

/** Capabilities of two servers as those of one: what either has. */
export function unite(one: JsonObject, other: JsonObject, depth = 1): JsonObject {
  const united = { ...one };
  for (const [key, value] of Object.entries<unknown>(other)) {
    const known: unknown = Object.hasOwn(united, key) ? united[key] : undefined;
    if (isObject(known) && isObject(value) && depth < MAX_DEPTH) united[key] = unite(known, value, depth + 1);
    else if (known === undefined || known === false) define(united, key, value);
  }
  return united;
}

/** Names come off the wire; `__proto__` must stay one. */
function define(object: JsonObject, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}
