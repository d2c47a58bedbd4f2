import { REQUEST_TIMEOUT } from '../jsonrpc/pending.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { Work } from '../schema/work.ts';
import { Method } from '../protocol/methods.ts';
import { Lifetime } from '../base/lifetime.ts';
import { Oldest } from '../base/oldest.ts';
import { waitFor } from '../base/wait.ts';
import { weightOf } from '../jsonrpc/weight.ts';

/** A list that is longer is not read to its end. */
const MAX_PAGES = 100;
/** Tools that are remembered, and bytes of memory (estimated) for what is known of them. The oldest are forgotten first. */
const MAX_TOOLS = 10_000;
const MAX_SIZE = 16 * 1024 * 1024;

/** What a user of a catalog wants to know of each tool. An error says why the definition cannot be used. */
type Fact = object | boolean;

export interface ToolCatalogOptions<Known extends Fact, Reader> {
  /** What to remember of a tool; undefined for nothing. All tools of one message share the work. */
  readonly keep: (tool: JsonObject, name: string, work: Work) => Known | undefined;
  /**
   * Reads one page of `tools/list`, from a cursor if there is one, until the lifetime ends. Default: `read` reads
   * nothing.
   */
  readonly list?: ((params: JsonObject, lifetime: Lifetime, reader: Reader) => Promise<JsonObject>) | undefined;
  /** What is remembered of a tool that is not in the list that was read for it. Default: nothing, so it is read again. */
  readonly absent?: Known | undefined;
  /** Milliseconds that reading the whole list may take. Default: any time. */
  readonly timeout?: number | undefined;
  /** Called with the first tool of a list that is too large to remember. Default: none. */
  readonly ontoolarge?: ((name: string) => void) | undefined;
  /** Called with definitions that cannot be used, and with errors of reading lists. Default: none. */
  readonly onerror?: ((error: Error) => void) | undefined;
}

/**
 * What is known of a server's tools, from the lists that come by. It remembers one fact of each tool, which `keep` takes
 * from the definition, and never a whole definition.
 *
 * - `learn` takes in a list that somebody asked for, `known` answers from memory, `read` asks the server for the list and
 *   is for a tool that no list has shown.
 * - Memory is bounded in tools and in size.
 * - One reading serves all who wait for it. It is made in the name of the first of them. It has a time limit; what was read
 *   until then is known.
 * - Where callers are shown different lists, they share what is known of a name. Whoever must tell them apart needs a
 *   catalog for each.
 *
 * It is used for four questions:
 *
 * | Who asks | What for | Reads the list | Forgets |
 * | --- | --- | --- | --- |
 * | `modern/outbound.ts` | which arguments to send in headers | as itself, for an unknown tool or after −32020 | when told of a change, or after −32020 |
 * | `bridge/header-check.ts` | which headers to compare with arguments | as the caller, for an unknown tool or where they differ, at most every 10 s | never: where headers differ it looks again |
 * | `rerun.ts` | whether a tool may run again | as the caller, when an unknown tool asks a question | when a caller is told of a change |
 * | `client/output-checks.ts` | the schema of its results | never: it checks what the user's own lists have shown | when told of a change, and with each connection |
 */
export class ToolCatalog<Known extends Fact, Reader = void> {
  readonly #options: ToolCatalogOptions<Known, Reader>;
  readonly #known = new Map<string, { readonly fact: Known; readonly size: number }>();
  readonly #oldest = new Oldest(this.#known);
  #size = 0;
  #reading: Promise<void> | undefined;

  constructor(options: ToolCatalogOptions<Known, Reader>) {
    this.#options = options;
  }

  /** Learns a result of `tools/list`. Returns it without tools whose definitions cannot be used. Those are reported. */
  learn(result: JsonObject): JsonObject {
    const { tools } = result;
    if (!Array.isArray(tools)) return result;
    // One bound for all tools of a message, so that it cannot delay other messages.
    const work = new Work();
    let left = MAX_SIZE;
    const usable = tools.filter((tool: unknown) => {
      if (!isObject(tool) || typeof tool['name'] !== 'string') return true;
      const { name } = tool;
      const fact = this.#options.keep(tool, name, work);
      const before = this.known(name);
      const size = this.#remember(name, fact, left);
      if (size > left && left > 0) this.#options.ontoolarge?.(name);
      left = size > left ? 0 : left - size;
      if (!(fact instanceof Error)) return true;
      if (!(before instanceof Error)) this.#options.onerror?.(fact);
      return false;
    });
    return usable.length === tools.length ? result : { ...result, tools: usable };
  }

  /** What is remembered of a tool. */
  known(name: string): Known | undefined {
    return this.#known.get(name)?.fact;
  }

  /** Reads the list, and says what is known of a tool then. Never rejects: the call itself shows what is wrong. */
  async read(name: string, reader: Reader): Promise<Known | undefined> {
    this.#reading ??= this.#readList(reader).finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
    const { absent } = this.#options;
    if (!this.#known.has(name)) this.#remember(name, absent, MAX_SIZE);
    return this.known(name) ?? absent;
  }

  /** The list has changed, or is that of another server. */
  forget(): void {
    this.#known.clear();
    this.#size = 0;
  }

  async #readList(reader: Reader): Promise<void> {
    const { timeout, onerror } = this.#options;
    const lifetime = new Lifetime();
    const late = (): Error =>
      new RpcError(REQUEST_TIMEOUT, `Request timed out: ${Method.ListTools} was not answered within ${timeout} ms`);
    try {
      await waitFor(this.#readPages(lifetime, reader), { timeout, late });
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
    if (!lifetime.aborted) throw new Error(`tools/list has more than ${MAX_PAGES} pages: the rest was not read`);
  }

  /** @returns its size, counted as far as the limit. */
  #remember(name: string, fact: Known | undefined, limit: number): number {
    this.#drop(name);
    if (fact === undefined) return 0;
    const size = name.length + (fact instanceof Error ? fact.message.length : weightOf(Object(fact) as object, limit));
    if (size > limit) return size;
    this.#known.set(name, { fact, size });
    this.#size += size;
    while (this.#known.size > MAX_TOOLS || this.#size > MAX_SIZE) this.#drop(this.#oldest.take()!);
    return size;
  }

  #drop(name: string): void {
    this.#size -= this.#known.get(name)?.size ?? 0;
    this.#known.delete(name);
  }
}
