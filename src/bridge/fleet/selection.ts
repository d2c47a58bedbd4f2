import { quoting } from '../../base/short-text.ts';
import { derive } from '../../core/derive.ts';
import type { Middleware } from '../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { put } from '../../jsonrpc/shape.ts';
import { Method } from '../../protocol/methods.ts';
import { refuseVariants } from '../exact-keys.ts';

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
 * @param onhidden called once for each tool that is hidden because another one is renamed to its name. Both names are
 * the server's own.
 */
export function selectTools(
  selection: ToolSelection,
  onhidden: (hidden: string, renamed: string) => void = () => {},
): Middleware {
  if (Object.keys(selection).length === 0) return (service) => service;
  const { rename = {}, describe = {} } = selection;
  const newNames = new Map(Object.entries(rename));
  const ownNames = new Map(Object.entries(rename).map(([own, name]) => [name, own]));
  const descriptions = new Map(Object.entries(describe));
  /** The hidden tools that were reported. */
  const reported = new Set<string>();

  /** The name of a tool for clients. Undefined if the tool is hidden. */
  const shownAs = (own: string): string | undefined => {
    if (!isSelected(selection, own)) return undefined;
    return newNames.get(own) ?? (ownNames.has(own) ? undefined : own);
  };

  const report = (hidden: string): void => {
    const renamed = ownNames.get(hidden);
    if (renamed === undefined || reported.has(hidden) || !isSelected(selection, hidden)) return;
    reported.add(hidden);
    onhidden(hidden, renamed);
  };

  const shown = (tool: unknown): JsonObject[] => {
    if (!isObject(tool) || typeof tool['name'] !== 'string') return [];
    const name = shownAs(tool['name']);
    if (name === undefined) {
      report(tool['name']);
      return [];
    }
    return [put({ ...tool, name }, 'description', descriptions.get(tool['name']))];
  };

  return (service) => async (exchange) => {
    const { method, params } = exchange;
    if (method === Method.ListTools) {
      const result = await service(exchange);
      return Array.isArray(result['tools']) ? { ...result, tools: result['tools'].flatMap(shown) } : result;
    }
    if (method !== Method.CallTool) return service(exchange);
    const { name } = params;
    // Some servers make a string of anything.
    if (typeof name !== 'string') throw new RpcError(ErrorCode.InvalidParams, '"name" must be a string');
    refuseVariants(params, 'name');
    const own = ownNames.get(name) ?? name;
    if (shownAs(own) !== name) throw new RpcError(ErrorCode.InvalidParams, quoting`Unknown tool: ${name}`);
    return service(own === name ? exchange : derive(exchange, { params: { ...params, name: own } }));
  };
}

/** Whether a selection shows the tool with this own name, unless another tool is renamed to it. */
export function isSelected({ hide = [], only = ['*'] }: ToolSelection, own: string): boolean {
  return !hide.some((pattern) => fits(own, pattern)) && only.some((pattern) => fits(own, pattern));
}

/** The names and patterns of a selection that none of these tools fits. */
export function withoutTool(
  { hide = [], only = [], rename = {}, describe = {} }: ToolSelection,
  tools: readonly string[],
) {
  const exact = [...Object.keys(rename), ...Object.keys(describe)].filter((name) => !tools.includes(name));
  const patterns = [...hide, ...only].filter((pattern) => !tools.some((name) => fits(name, pattern)));
  return [...new Set([...patterns, ...exact])];
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
