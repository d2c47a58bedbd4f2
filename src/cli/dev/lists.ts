import { connect } from '../../client/connect.ts';
import type { Client } from '../../client/client.ts';
import { canonicalJson } from '../../jsonrpc/shape.ts';
import type { LIST_CHANGES } from '../../protocol/subscriptions.ts';
import type { SubscriptionFilter } from '../../protocol/types.ts';
import type { Transport } from '../../transport/transport.ts';
import { VERSION } from '../../version.ts';

type ListFlag = (typeof LIST_CHANGES)[number][0];

/** The lists of a server: a noun for each entry, the entries by their identifiers, and the notification for a change. */
const KINDS = [
  { noun: 'tool', flag: 'toolsListChanged', id: 'name', read: (client: Client) => client.listTools() },
  { noun: 'prompt', flag: 'promptsListChanged', id: 'name', read: (client: Client) => client.listPrompts() },
  { noun: 'resource', flag: 'resourcesListChanged', id: 'uri', read: (client: Client) => client.listResources() },
  {
    noun: 'resource template',
    flag: 'resourcesListChanged',
    id: 'uriTemplate',
    read: (client: Client) => client.listResourceTemplates(),
  },
] as const satisfies readonly { flag: ListFlag; [key: string]: unknown }[];

/** Milliseconds for one page of a list. */
const TIMEOUT = 10_000;

/** The entries of one list: their definitions, in canonical JSON, by their identifiers. */
type Entries = ReadonlyMap<string, string>;

/** What a server offers. */
export interface Lists {
  readonly name: string;
  readonly version: string;
  /** In the order of `KINDS`. */
  readonly entries: readonly Entries[];
}

/** Asks a server for all its lists. @throws Error if it does not answer. */
export async function readLists(open: () => Transport, signal: AbortSignal): Promise<Lists> {
  const client = await connect(open, {
    clientInfo: { name: 'everwire-dev', version: VERSION },
    signal,
    timeout: TIMEOUT,
  });
  try {
    const { name = '', version = '' } = client.serverInfo ?? {};
    const entries: Entries[] = [];
    for (const { id, read } of KINDS) {
      const list: readonly object[] = await read(client);
      entries.push(
        new Map(list.map((entry) => [String((entry as Record<string, unknown>)[id]), canonicalJson(entry)])),
      );
    }
    return { name, version, entries };
  } finally {
    await client.close();
  }
}

/** How many entries each list has, such as `2 tools, 1 prompt`. */
export function counted({ entries }: Lists): string {
  const counts = KINDS.flatMap(({ noun }, index) => {
    const { size = 0 } = entries[index] ?? {};
    return size === 0 ? [] : [`${size} ${noun}${size === 1 ? '' : 's'}`];
  });
  return counts.length > 0 ? counts.join(', ') : 'nothing';
}

/** The differences between two versions. */
export interface ListChanges {
  /** Which lists differ. */
  readonly changed: SubscriptionFilter;
  /** One line for each entry that differs, such as `added tool add`. */
  readonly lines: readonly string[];
}

/** Compares what two versions of a server offer. */
export function compareLists(before: Lists, after: Lists): ListChanges {
  const changed: SubscriptionFilter = {};
  const lines: string[] = [];
  for (const [index, { noun, flag }] of KINDS.entries()) {
    const [old, current] = [before.entries[index] ?? new Map(), after.entries[index] ?? new Map()];
    const note = (what: string, id: string): void => {
      changed[flag] = true;
      lines.push(`${what} ${noun} ${id}`);
    };
    for (const id of current.keys()) if (!old.has(id)) note('added', id);
    for (const id of old.keys()) if (!current.has(id)) note('removed', id);
    for (const [id, definition] of current) if (old.has(id) && old.get(id) !== definition) note('changed', id);
  }
  return { changed, lines };
}
