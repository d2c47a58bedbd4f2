import { derive } from '../../core/derive.ts';
import type { Exchange, Middleware, Service } from '../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { Method } from '../../protocol/methods.ts';

/** Which tools of a server are shown, and how. All names are the server's own; a `*` stands for any characters. */
export interface ToolSelection {
  /** Tools that are not shown, and cannot be called. Default: none. */
  readonly hide?: readonly string[] | undefined;
  /** The only tools that are shown. Default: all. */
  readonly only?: readonly string[] | undefined;
  /**
   * Other names for tools, by their own: 1 to 64 letters, digits and `_ - .`, each for one tool. A tool whose own name is
   * given to another is not shown.
   */
  readonly rename?: Readonly<Record<string, string>> | undefined;
  /** Other descriptions of tools, by their own names. */
  readonly describe?: Readonly<Record<string, string>> | undefined;
}

/** Shows of a server's tools those that are selected, as they are to be shown; the others are unknown to whoever calls. */
export function selectTools(selection: ToolSelection): Middleware {
  const { hide = [], only = ['*'], rename = {}, describe = {} } = selection;
  if (
    [hide.length, Object.keys(rename).length, Object.keys(describe).length].every((size) => size === 0) &&
    only.includes('*')
  )
    return (service) => service;
  const selected = new Selected(hide, only, rename, describe);
  return (service: Service): Service =>
    (exchange) => {
      if (exchange.method === Method.CallTool) return selected.call(service, exchange);
      if (exchange.method === Method.ListTools) return service(exchange).then((result) => selected.list(result));
      return service(exchange);
    };
}

class Selected {
  readonly #hide: readonly string[];
  readonly #only: readonly string[];
  readonly #names: ReadonlyMap<string, string>;
  readonly #own: ReadonlyMap<string, string>;
  readonly #descriptions: ReadonlyMap<string, string>;

  constructor(
    hide: readonly string[],
    only: readonly string[],
    rename: Readonly<Record<string, string>>,
    describe: Readonly<Record<string, string>>,
  ) {
    this.#hide = hide;
    this.#only = only;
    this.#names = new Map(Object.entries(rename));
    this.#own = new Map(Object.entries(rename).map(([own, name]) => [name, own]));
    this.#descriptions = new Map(Object.entries(describe));
  }

  call(service: Service, exchange: Exchange): Promise<JsonObject> {
    const { params } = exchange;
    const { name } = params;
    if (typeof name !== 'string') return service(exchange);
    const own = this.#own.get(name) ?? name;
    // As a server says it of a tool that it does not have.
    if (this.#shownAs(own) !== name)
      return Promise.reject(new RpcError(ErrorCode.InvalidParams, `Unknown tool: ${name}`));
    return service(own === name ? exchange : derive(exchange, { params: { ...params, name: own } }));
  }

  list(result: JsonObject): JsonObject {
    const tools: unknown = result['tools'];
    if (!Array.isArray(tools)) return result;
    return { ...result, tools: tools.flatMap((tool: unknown) => this.#dress(tool)) };
  }

  #dress(tool: unknown): JsonObject[] {
    if (!isObject(tool) || typeof tool['name'] !== 'string') return [];
    const own = tool['name'];
    const name = this.#shownAs(own);
    if (name === undefined) return [];
    const description = this.#descriptions.get(own);
    return [{ ...tool, name, ...(description === undefined ? {} : { description }) }];
  }

  /** What a tool is called, if it is shown. */
  #shownAs(own: string): string | undefined {
    const hidden =
      this.#hide.some((pattern) => fits(own, pattern)) || !this.#only.some((pattern) => fits(own, pattern));
    if (hidden) return undefined;
    const name = this.#names.get(own);
    if (name !== undefined) return name;
    return this.#own.has(own) ? undefined : own;
  }
}

/** Whether a name is one that a pattern means; each `*` takes as little as it can, so the time is linear. */
function fits(name: string, pattern: string): boolean {
  const [head, ...others] = pattern.split('*');
  const tail = others.pop();
  if (tail === undefined) return name === pattern;
  if (!name.startsWith(head!)) return false;
  let at = head!.length;
  for (const part of others) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return name.length - tail.length >= at && name.endsWith(tail);
}
