import { derive } from '../../core/derive.ts';
import type { Exchange, Middleware, Service } from '../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { Method } from '../../protocol/methods.ts';

/** Which tools of a server are shown, and how. All names are the server's own. A `*` matches any characters. */
export interface ToolSelection {
  /** Hidden tools, which cannot be called either. Default: none. */
  readonly hide?: readonly string[] | undefined;
  /** The only tools that are shown. Default: all. */
  readonly only?: readonly string[] | undefined;
  /**
   * New names for tools, by their own names: 1 to 64 letters, digits and `_ - .`, each for one tool. A fleet does not
   * add the server's name to them. If a tool's own name is given to another tool, the first tool is hidden.
   */
  readonly rename?: Readonly<Record<string, string>> | undefined;
  /** New descriptions of tools, by their own names. */
  readonly describe?: Readonly<Record<string, string>> | undefined;
}

/**
 * Shows the selected tools of a server. Calls of other tools fail as if the server did not have them.
 *
 * @param onhidden called once for each tool that is hidden because another one is renamed to its name.
 */
export function selectTools(selection: ToolSelection, onhidden?: OnHidden): Middleware {
  if (Object.keys(selection).length === 0) return (service) => service;
  const selected = new SelectedTools(selection, onhidden);
  return (service: Service): Service =>
    (exchange) => {
      if (exchange.method === Method.CallTool) return selected.call(service, exchange);
      if (exchange.method === Method.ListTools) return service(exchange).then((result) => selected.list(result));
      return service(exchange);
    };
}

/** Both names are the server's own. */
type OnHidden = (hidden: string, renamed: string) => void;

class SelectedTools {
  readonly #selection: ToolSelection;
  readonly #newNames: ReadonlyMap<string, string>;
  readonly #ownNames: ReadonlyMap<string, string>;
  readonly #descriptions: ReadonlyMap<string, string>;

  readonly #onhidden: OnHidden | undefined;
  /** The hidden tools that were reported. */
  readonly #reported = new Set<string>();

  constructor(selection: ToolSelection, onhidden: OnHidden | undefined) {
    this.#onhidden = onhidden;
    const renamed = Object.entries(selection.rename ?? {});
    this.#selection = selection;
    this.#newNames = new Map(renamed);
    this.#ownNames = new Map(renamed.map(([own, name]) => [name, own]));
    this.#descriptions = new Map(Object.entries(selection.describe ?? {}));
  }

  call(service: Service, exchange: Exchange): Promise<JsonObject> {
    const { params } = exchange;
    const { name } = params;
    if (typeof name !== 'string') return service(exchange);
    const own = this.#ownNames.get(name) ?? name;
    if (this.#shownAs(own) !== name)
      return Promise.reject(new RpcError(ErrorCode.InvalidParams, `Unknown tool: ${name}`));
    return service(own === name ? exchange : derive(exchange, { params: { ...params, name: own } }));
  }

  list(result: JsonObject): JsonObject {
    const tools: unknown = result['tools'];
    if (!Array.isArray(tools)) return result;
    return { ...result, tools: tools.flatMap((tool: unknown) => this.#shown(tool)) };
  }

  #shown(tool: unknown): JsonObject[] {
    if (!isObject(tool) || typeof tool['name'] !== 'string') return [];
    const name = this.#shownAs(tool['name']);
    if (name === undefined) {
      this.#report(tool['name']);
      return [];
    }
    const description = this.#descriptions.get(tool['name']);
    return [{ ...tool, name, ...(description === undefined ? {} : { description }) }];
  }

  /** The name of a tool for clients. Undefined if the tool is hidden. */
  #shownAs(own: string): string | undefined {
    if (!this.#isSelected(own)) return undefined;
    return this.#newNames.get(own) ?? (this.#ownNames.has(own) ? undefined : own);
  }

  #isSelected(own: string): boolean {
    const { hide = [], only = ['*'] } = this.#selection;
    return !hide.some((pattern) => fits(own, pattern)) && only.some((pattern) => fits(own, pattern));
  }

  #report(hidden: string): void {
    const renamed = this.#ownNames.get(hidden);
    if (renamed === undefined || this.#reported.has(hidden) || !this.#isSelected(hidden)) return;
    this.#reported.add(hidden);
    this.#onhidden?.(hidden, renamed);
  }
}

/** Whether a name matches a pattern. Each `*` matches as little as possible, so there is no backtracking. */
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
