import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { Meta, Method } from '../../protocol/methods.ts';
import { clauses } from '../clauses.ts';
import type { MessageEvent } from '../model/events.ts';
import type { Exchange } from '../model/exchange.ts';
import { decodeUtf8 } from '../model/text.ts';
import { onEvent, type WireRule } from '../rule.ts';
import { shown, shownHeader } from './shown.ts';
import { markedArguments } from './header-arguments.ts';

const PAGE = 'basic/transports/streamable-http';

/** The member of the params that `Mcp-Name` repeats. */
const NAMED: ReadonlyMap<string, string> = new Map([
  [Method.CallTool, 'name'],
  [Method.GetPrompt, 'name'],
  [Method.ReadResource, 'uri'],
  [Method.GetTask, 'taskId'],
  [Method.UpdateTask, 'taskId'],
  [Method.CancelTask, 'taskId'],
]);

/** Headers that repeat parts of the body, since 2026-07-28. */
export const MCP_HEADER_RULES: readonly WireRule[] = [
  onEvent('message', {
    id: 'http-version-header-body',
    area: 'http',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, undefined, `${PAGE} 24`),
    right: '`MCP-Protocol-Version` has the same revision as the `_meta` of the request.',
    check: ({ kind, from, exchange, meta }) => {
      const header = exchange?.request.get('mcp-protocol-version');
      const named: unknown = meta[Meta.ProtocolVersion];
      if (kind !== 'request' || from !== 'client' || header === undefined || named === undefined) return undefined;
      return header === named || `MCP-Protocol-Version: ${header}, and ${shown(named)} in the body`;
    },
  }),
  onEvent('message', {
    id: 'mcp-method-header',
    area: 'http',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, undefined, `${PAGE} 9,29`),
    right: '`Mcp-Method` has the method of the body.',
    check: ({ kind, from, exchange, method }) => {
      // For notifications, the revision defines no headers.
      if (kind !== 'request' || from !== 'client' || !exchange) return undefined;
      const header = exchange.request.get('mcp-method');
      return header === method || `${shownHeader('Mcp-Method', header)}, for ${method}`;
    },
  }),
  onEvent('message', {
    id: 'mcp-name-header',
    area: 'http',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, undefined, `${PAGE} 29,30,47,50; extensions/tasks 43`),
    right: '`Mcp-Name` has the name, the URI or the task id of the body, encoded if it is not plain ASCII.',
    check: ({ kind, from, exchange, method, params }) => {
      const member = NAMED.get(method);
      if (kind !== 'request' || from !== 'client' || !exchange || member === undefined) return undefined;
      const value: unknown = params[member];
      if (typeof value !== 'string') return undefined;
      const header = exchange.request.get('mcp-name');
      return (
        (header !== undefined && decoded(header) === value) || `${shownHeader('Mcp-Name', header)}, for ${shown(value)}`
      );
    },
  }),
  onEvent('message', {
    id: 'mcp-param-header',
    area: 'http',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, undefined, `${PAGE} 31,32,44,45,57,59,61`),
    right: 'Each argument that the tool marks with `x-mcp-header` is also in its `Mcp-Param-` header.',
    check: ({ kind, from, exchange, params, method, conversation }) => {
      const tool = method === Method.CallTool ? conversation.tool(params['name']) : undefined;
      if (kind !== 'request' || from !== 'client' || !exchange || !tool) return undefined;
      const marked = [...markedArguments(tool['inputSchema'])];
      if (marked.length === 0) return undefined;
      return differing(exchange, marked, params['arguments']) ?? true;
    },
  }),
  onEvent('message', {
    id: 'http-header-mismatch-accepted',
    area: 'http',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, undefined, `${PAGE} 25,55,56,58,65`),
    right: 'A server refuses a request whose headers differ from its body with 400 and the code −32020.',
    check: ({ kind, from, exchange, about }) => {
      if (from !== 'server' || kind !== 'result' || !exchange || exchange.messages.length !== 1) return undefined;
      const [request] = exchange.messages;
      if (about?.method !== request!.method) return undefined;
      const difference = differenceIn(exchange, request!.method, request!.params);
      return difference === undefined || `a result, although the request had ${difference}`;
    },
  }),
];

function differenceIn({ request }: Exchange, method: string, params: JsonObject): string | undefined {
  const named: unknown = isObject(params['_meta']) ? params['_meta'][Meta.ProtocolVersion] : undefined;
  const version = request.get('mcp-protocol-version');
  if (named !== undefined && version !== named)
    return `${shownHeader('MCP-Protocol-Version', version)} and ${shown(named)}`;
  const header = request.get('mcp-method');
  if (header !== method) return `${shownHeader('Mcp-Method', header)} and the method ${method}`;
  const member = NAMED.get(method);
  const value: unknown = member === undefined ? undefined : params[member];
  const name = request.get('mcp-name');
  if (typeof value !== 'string' || (name !== undefined && decoded(name) === value)) return undefined;
  return `${shownHeader('Mcp-Name', name)} and ${shown(value)}`;
}

/** The first marked argument whose header is missing, superfluous or different. */
function differing(
  { request }: Exchange,
  marked: readonly { readonly header: string; readonly path: readonly string[] }[],
  args: MessageEvent['message'],
): string | undefined {
  for (const { header, path } of marked) {
    const name = `Mcp-Param-${header}`;
    const sent = request.get(name.toLowerCase());
    const value = path.reduce<unknown>(
      (at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined),
      args,
    );
    const isAbsent = value === undefined || value === null;
    if (isAbsent ? sent === undefined : sent !== undefined && sameValue(decoded(sent), value)) continue;
    return `${shownHeader(name, sent)}, for ${shown(value)}`;
  }
  return undefined;
}

function sameValue(header: string | undefined, value: unknown): boolean {
  if (typeof value === 'number') return header !== undefined && header !== '' && Number(header) === value;
  return header === String(value);
}

/** The value that a header represents. Undefined if it is malformed. */
function decoded(header: string): string | undefined {
  const base64 = /^=\?base64\?(.*)\?=$/s.exec(header)?.[1];
  if (base64 === undefined) return header;
  try {
    return decodeUtf8(Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)));
  } catch {
    return undefined;
  }
}
