import { REQUEST_TIMEOUT } from '../jsonrpc/pending.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { Work } from '../schema/work.ts';
import { Method } from '../protocol/methods.ts';
import { Lifetime } from '../base/lifetime.ts';
import { Oldest } from '../base/oldest.ts';
import { waitFor } from '../base/wait.ts';
import { weightOf } from '../jsonrpc/weight.ts';

/** How many pages of a list are read. */
const MAX_PAGES = 100;
/** How many tools are remembered. The oldest are dropped first. */
const MAX_TOOLS = 10_000;
const MAX_SIZE = 16 * 1024 * 1024;

/** What a catalog remembers of a tool. An error says why the definition cannot be used. */
type Fact = object | boolean;

interface Remembered<Known> {
  readonly fact: Known;
  /** Bytes (estimated). */
  readonly size: number;
}

export interface ToolCatalogOptions<Known extends Fact, Reader> {
  /** Returns what to remember of a tool, or undefined. The tools of one message share the `work` limit. */
  readonly keep: (tool: JsonObject, name: string, work: Work) => Known | undefined;
  /**
   * Requests one page of `tools/list` with the given parameters. Aborted when the lifetime ends. Default: `read`
   * requests nothing.
   */
  readonly list?: ((params: JsonObject, lifetime: Lifetime, reader: Reader) => Promise<JsonObject>) | undefined;
  /**
   * What to remember of a tool that was not in the list that `read` requested. Default: nothing, so that the next
   * `read` requests the list again.
   */
  readonly absent?: Known | undefined;
  /** How long reading the whole list may take. Milliseconds. Default: no limit. */
  readonly timeout?: number | undefined;
  /** How much memory the facts may use, in bytes (estimated). The oldest are dropped first. Default 16 MiB. */
  readonly maxSize?: number | undefined;
  /** Called with the first tool of a list that is too large to remember. Default: ignored. */
  readonly ontoolarge?: ((name: string) => void) | undefined;
  /** Called with definitions that cannot be used, and with errors from reading lists. Default: ignored. */
  readonly onerror?: ((error: Error) => void) | undefined;
}

/**
 * What is known of a server's tools, collected from the `tools/list` results that pass through. For each tool it
 * remembers one fact, which `keep` makes from the definition, and never the whole definition.
 *
 * - `learn` reads a list that somebody requested. `known` answers from memory. `read` requests the list itself, for a
 *   tool that no list has shown.
 * - Memory is bounded in tools and in size.
 * - Concurrent calls of `read` share one request, which is made for the first of them. If it times out, the pages that
 *   were read are kept.
 * - If the server shows its callers different lists, the facts are still shared by tool name. To keep callers apart,
 *   make a catalog for each.
 *
 * Four parts use it:
 *
 * - `modern/outbound.ts`: which arguments to send in headers. It reads the list for itself, for an unknown tool or
 *   after −32020. It forgets the fact when the list changes, or after −32020.
 * - `bridge/header-check.ts`: which headers to compare with arguments. It reads the list as the caller, for an unknown
 *   tool or if a header differs, at most every 10 s. It never forgets: if headers differ, it reads the list again.
 * - `rerun.ts`: whether a tool may run again. It reads the list as the caller, when an unknown tool asks a question. It
 *   forgets the fact when a caller is notified of a change.
 * - `client/output-checks.ts`: the schema of the tool's results. It never reads the list: it checks only what the
 *   user's own lists contained. It forgets the schema when the list changes, and with each connection.
 */
export class ToolCatalog<Known extends Fact, Reader = void> {
  readonly #options: ToolCatalogOptions<Known, Reader>;
  readonly #known = new Map<string, Remembered<Known>>();
  readonly #oldest = new Oldest(this.#known);
  readonly #maxSize: number;
  #size = 0;
  #reading: Promise<void> | undefined;

  constructor(options: ToolCatalogOptions<Known, Reader>) {
    this.#options = options;
    this.#maxSize = options.maxSize ?? MAX_SIZE;
  }

  /** Learns a result of `tools/list`. Returns it without tools whose definitions cannot be used. Those are reported. */
  learn(result: JsonObject): JsonObject {
    const { tools } = result;
    if (!Array.isArray(tools)) return result;
    // All tools of a message share one limit, so that the message cannot delay others.
    const work = new Work();
    let left = this.#maxSize;
    // Each name is remembered once: adding and removing one key again and again takes long in a large map.
    const learned = new Map<string, Remembered<Known> | undefined>();
    const usable = tools.filter((tool: unknown) => {
      if (!isObject(tool) || typeof tool['name'] !== 'string') return true;
      const { name } = tool;
      const fact = this.#options.keep(tool, name, work);
      const before = learned.has(name) ? learned.get(name)?.fact : this.known(name);
      const size = sizeOf(name, fact, left);
      learned.set(name, fact === undefined || size > left ? undefined : { fact, size });
      if (size > left && left > 0) this.#options.ontoolarge?.(name);
      left = size > left ? 0 : left - size;
      if (!(fact instanceof Error)) return true;
      if (!(before instanceof Error)) this.#options.onerror?.(fact);
      return false;
    });
    for (const [name, remembered] of learned) this.#remember(name, remembered);
    return usable.length === tools.length ? result : { ...result, tools: usable };
  }

  /** What is remembered of a tool. Undefined if nothing is. */
  known(name: string): Known | undefined {
    return this.#known.get(name)?.fact;
  }

  /**
   * Reads the list and returns what is then known of the tool. Never rejects: if the list cannot be read, the call
   * itself will show why.
   */
  async read(name: string, reader: Reader): Promise<Known | undefined> {
    this.#reading ??= this.#readList(reader).finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
    const { absent } = this.#options;
    if (!this.#known.has(name) && absent !== undefined) {
      this.#remember(name, { fact: absent, size: sizeOf(name, absent, this.#maxSize) });
    }
    return this.known(name) ?? absent;
  }

  /** Forgets everything, because the list has changed or another server is connected. */
  forget(): void {
    this.#known.clear();
    this.#size = 0;
  }

  async #readList(reader: Reader): Promise<void> {
    const { timeout, onerror } = this.#options;
    const lifetime = new Lifetime();
    const timeoutError = (): Error =>
      new RpcError(REQUEST_TIMEOUT, `Request timed out: ${Method.ListTools} was not answered within ${timeout} ms`);
    try {
      await waitFor(this.#readPages(lifetime, reader), { timeout, timeoutError });
    } catch (error) {
      lifetime.abort(error as Error);
      onerror?.(error as Error);
    }
  }

  async #readPages(lifetime: Lifetime, reader: Reader): Promise<void> {
    let params: JsonObject = {};
    for (let page = 0; page < MAX_PAGES && !lifetime.aborted; page += 1) {
      const result = (await this.#options.list?.(params, lifetime, reader)) ?? {};
      this.learn(result);
      const cursor: unknown = result['nextCursor'];
      if (typeof cursor !== 'string') return;
      params = { cursor };
    }
    if (!lifetime.aborted) throw new Error(`tools/list has more than ${MAX_PAGES} pages; the rest was not read`);
  }

  #remember(name: string, remembered: Remembered<Known> | undefined): void {
    this.#drop(name);
    if (!remembered || remembered.size > this.#maxSize) return;
    this.#known.set(name, remembered);
    this.#size += remembered.size;
    while (this.#known.size > MAX_TOOLS || this.#size > this.#maxSize) this.#drop(this.#oldest.take()!);
  }

  #drop(name: string): void {
    this.#size -= this.#known.get(name)?.size ?? 0;
    this.#known.delete(name);
  }
}

/** The size of a fact and its name, in bytes (estimated). Counting stops at `limit`. */
function sizeOf(name: string, fact: Fact | undefined, limit: number): number {
  if (fact === undefined) return 0;
  return name.length + (fact instanceof Error ? fact.message.length : weightOf(Object(fact) as object, limit));
}
