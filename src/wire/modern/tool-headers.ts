import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { Method } from '../../protocol/methods.ts';
import { Work } from '../../protocol/json-schema/work.ts';
import { paramHeaders, type ParamHeader } from '../../protocol/param-headers.ts';
import { subschemasOf } from '../../protocol/subschemas.ts';

/** Which arguments of a tool headers say again, or why the tool must not be offered. */
export type ToolHeaders = readonly ParamHeader[] | Error;

/** A list that is longer is not read to its end. */
const MAX_PAGES = 100;
/** Tools that are remembered, about: the oldest are forgotten first, and asked for again when they are called. */
const MAX_TOOLS = 10_000;
const NONE: readonly ParamHeader[] = [];

/** Reads one page of `tools/list`, from a cursor where there is one. */
export type ListTools = (params: JsonObject) => Promise<JsonObject>;

/**
 * What the tools of a server ask for by `x-mcp-header`, as the lists say that come by (2026-07-28,
 * basic/transports/streamable-http: Custom Headers from Tool Parameters).
 */
export class ToolHeaderCache {
  readonly #list: ListTools;
  readonly #onerror: (error: Error) => void;
  readonly #known = new Map<string, ToolHeaders>();
  #listing: Promise<void> | undefined;

  /** @param list asks the server; its results are given to `learn` by whoever gets them. */
  constructor(list: ListTools, onerror: (error: Error) => void) {
    this.#list = list;
    this.#onerror = onerror;
  }

  /** Takes in a result of `tools/list`; returns it without the tools whose definitions are invalid, which are reported. */
  learn(result: JsonObject): JsonObject {
    const { tools } = result;
    if (!Array.isArray(tools)) return result;
    // One bound for all tools of a message, so that it cannot delay other messages.
    const work = new Work();
    const valid = tools.filter((tool: unknown) => {
      if (!isObject(tool) || typeof tool['name'] !== 'string') return true;
      const headers = headersOf(tool, tool['name'], work);
      const before = this.#known.get(tool['name']);
      this.#remember(tool['name'], headers);
      if (!(headers instanceof Error)) return true;
      if (!(before instanceof Error)) this.#onerror(headers);
      return false;
    });
    return valid.length === tools.length ? result : { ...result, tools: valid };
  }

  /** What a tool asks for, as far as it is known. */
  known(name: string): ToolHeaders | undefined {
    return this.#known.get(name);
  }

  /** Reads the list, and says what a tool asks for. One that is not in the list asks for nothing. Never rejects. */
  async fetch(name: string): Promise<ToolHeaders> {
    this.#listing ??= this.#readList().finally(() => {
      this.#listing = undefined;
    });
    await this.#listing;
    const headers = this.#known.get(name);
    if (headers) return headers;
    this.#remember(name, NONE);
    return NONE;
  }

  /** The list has changed. */
  forget(): void {
    this.#known.clear();
  }

  async #readList(): Promise<void> {
    try {
      let params: JsonObject = {};
      for (let page = 0; page < MAX_PAGES; page += 1) {
        const result = await this.#list(params);
        this.learn(result);
        const cursor: unknown = result['nextCursor'];
        if (typeof cursor !== 'string') return;
        params = { cursor };
      }
      this.#onerror(new Error(`tools/list has more than ${MAX_PAGES} pages: the rest was not read`));
    } catch (error) {
      // The call itself shows what is wrong, if that concerns it.
      this.#onerror(error as Error);
    }
  }

  #remember(name: string, headers: ToolHeaders): void {
    this.#known.delete(name);
    this.#known.set(name, headers);
    if (this.#known.size <= MAX_TOOLS) return;
    const [oldest] = this.#known.keys();
    this.#known.delete(oldest!);
  }
}

function headersOf(tool: JsonObject, name: string, work: Work): ToolHeaders {
  const owner = `Tool ${name}`;
  try {
    const schema: unknown = tool['inputSchema'];
    if (!isObject(schema)) return NONE;
    return paramHeaders(subschemasOf(schema, `${owner}: the input schema`, work), owner) ?? NONE;
  } catch (error) {
    return new Error(`${(error as Error).message}; the tool is left out`, { cause: error });
  }
}

/** Whether a request is one that may need headers of its own. */
export function callsTool(method: string, params: JsonObject): boolean {
  return method === Method.CallTool && typeof params['name'] === 'string';
}
