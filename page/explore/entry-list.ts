import { computed, signal, type ReadonlySignal } from '@preact/signals';
import { isObject, type JsonObject } from '../../src/jsonrpc/message.ts';
import { NotificationMethod } from '../../src/protocol/methods.ts';
import type { Outcome } from './request.ts';

/** An entry of a list of the server. */
export interface Entry {
  /** What identifies it: the name, or the URI. */
  readonly id: string;
  /** What people call it. */
  readonly label: string;
  readonly description: string;
  /** As the server sent it. */
  readonly raw: JsonObject;
}

/** One of the lists of a server. */
export interface ListKind {
  readonly method: string;
  /** The member of a page that has the entries. */
  readonly member: string;
  /** The member of an entry that identifies it. */
  readonly id: 'name' | 'uri' | 'uriTemplate';
  /** The capability that a server with this list declares. */
  readonly capability: 'tools' | 'resources' | 'prompts';
  /** Its entries, for people. */
  readonly noun: string;
  /** The notification of its changes. */
  readonly changed: string;
}

export const LISTS = {
  Tools: {
    method: 'tools/list',
    member: 'tools',
    id: 'name',
    capability: 'tools',
    noun: 'tools',
    changed: NotificationMethod.ToolsListChanged,
  },
  Resources: {
    method: 'resources/list',
    member: 'resources',
    id: 'uri',
    capability: 'resources',
    noun: 'resources',
    changed: NotificationMethod.ResourcesListChanged,
  },
  Templates: {
    method: 'resources/templates/list',
    member: 'resourceTemplates',
    id: 'uriTemplate',
    capability: 'resources',
    noun: 'resource templates',
    changed: NotificationMethod.ResourcesListChanged,
  },
  Prompts: {
    method: 'prompts/list',
    member: 'prompts',
    id: 'name',
    capability: 'prompts',
    noun: 'prompts',
    changed: NotificationMethod.PromptsListChanged,
  },
} as const satisfies Record<string, ListKind>;

export type ListName = keyof typeof LISTS;

/** The most entries that are kept, and characters of their texts, all of which a search reads. */
const MAX_ENTRIES = 20_000;
const MAX_TEXTS = 50_000_000;
/** The most pages that one click loads. */
const MAX_PAGES = 100;

type Request = (method: string, params: JsonObject) => Promise<Outcome>;

/** A list of the server, which is read page by page. */
export class EntryList {
  readonly kind: ListKind;
  readonly #request: Request;
  readonly #entries = signal<readonly Entry[]>([]);
  readonly #problem = signal<string | undefined>(undefined);
  readonly #loading = signal(false);
  #reading: Promise<void> | undefined;
  readonly #pages = signal(0);
  /** The cursor of the next page. Null if there is none, undefined if no page has been read. */
  readonly #cursor = signal<string | null | undefined>(undefined);
  #seen = new Set<string>();

  constructor(kind: ListKind, request: Request) {
    this.kind = kind;
    this.#request = request;
  }

  readonly entries: ReadonlySignal<readonly Entry[]> = this.#entries;
  /** Why the last page could not be read. */
  readonly problem: ReadonlySignal<string | undefined> = this.#problem;
  readonly loading: ReadonlySignal<boolean> = this.#loading;
  readonly pages: ReadonlySignal<number> = this.#pages;
  readonly started = computed(() => this.#pages.value > 0 || this.#loading.value || this.#problem.value !== undefined);
  readonly hasMore = computed(() => typeof this.#cursor.value === 'string');

  /** When it was read from its start, in milliseconds of `performance.now()`. */
  readonly readAt = signal(0);

  /** Reads the next page, unless pages are being read. */
  async more(): Promise<void> {
    if (!this.#reading) await this.#read(1);
  }

  /** Reads all pages, at most 100 at a time: the list of a server need not end. */
  async all(): Promise<void> {
    while (this.#reading) await this.#reading;
    await this.#read(MAX_PAGES);
  }

  /** Reads the list again from its start, unless pages are being read. */
  async reload(): Promise<void> {
    if (this.#reading) return;
    this.#seen = new Set();
    this.#cursor.value = undefined;
    await this.#read(1);
  }

  #read(count: number): Promise<void> {
    this.#reading = this.#readPages(count).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readPages(count: number): Promise<void> {
    this.#loading.value = true;
    this.#problem.value = undefined;
    try {
      for (let i = 0; i < count && this.#cursor.value !== null; i++) await this.#page(this.#cursor.value);
    } catch (error) {
      this.#problem.value = (error as Error).message;
    }
    this.#loading.value = false;
  }

  async #page(cursor: string | undefined): Promise<void> {
    if (cursor === undefined) this.readAt.value = performance.now();
    const { method, member, id } = this.kind;
    const outcome = await this.#request(method, cursor === undefined ? {} : { cursor });
    const { [member]: entries, nextCursor } = resultOf(outcome);
    if (!Array.isArray(entries)) throw new Error(`The response to ${method} has no list "${member}".`);
    const before = cursor === undefined ? [] : this.#entries.value;
    const merged = [...before, ...entries.map((entry) => entryOf(entry, id))];
    const kept = keptOf(merged);
    this.#entries.value = merged.slice(0, kept);
    this.#pages.value = cursor === undefined ? 1 : this.#pages.value + 1;
    const next: unknown = nextCursor ?? null;
    this.#cursor.value = null;
    if (merged.length > kept) throw new Error(`The list is too long. Only its first ${kept} entries are shown.`);
    if (next === null) return;
    if (typeof next !== 'string') throw new Error('The next cursor is not a string, so the list ends here.');
    if (this.#seen.has(next)) throw new Error('The server repeated a cursor, so the list ends here.');
    this.#seen.add(next);
    this.#cursor.value = next;
  }
}

/** How many entries are kept. */
function keptOf(entries: readonly Entry[]): number {
  let room = MAX_TEXTS;
  const end = entries.findIndex(({ label, description }) => (room -= label.length + description.length) < 0);
  return Math.min(end === -1 ? entries.length : end, MAX_ENTRIES);
}

function resultOf(outcome: Outcome): JsonObject {
  switch (outcome.kind) {
    case 'result':
      return outcome.result;
    case 'error':
      throw new Error(outcome.error.message);
    case 'large':
      throw new Error('This page of the list is longer than 2 MB. See it in Wire.');
    default:
      throw new Error(outcome.message);
  }
}

function entryOf(raw: unknown, member: ListKind['id']): Entry {
  if (!isObject(raw)) return { id: '', label: JSON.stringify(raw), description: 'This entry is malformed.', raw: {} };
  const id = textOf(raw[member]) ?? '';
  const label =
    textOf(raw['title']) ?? textOf((raw['annotations'] as JsonObject | undefined)?.['title']) ?? textOf(raw['name']);
  return { id, label: label || id || '(no name)', description: textOf(raw['description']) ?? '', raw };
}

/** The value if it is a string: a server can send anything. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The entries that have all words of a search in their texts. */
export function matching(entries: readonly Entry[], search: string): readonly Entry[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return entries;
  return entries.filter(({ id, label, description }) => {
    const text = `${id}\n${label}\n${description}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
