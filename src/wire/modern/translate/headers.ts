import { shortJson } from '../../../base/short-text.ts';
import { Refusal } from '../../../core/refusal.ts';
import type { JsonObject, Request } from '../../../jsonrpc/message.ts';
import { decodeHeaderValue } from '../../../protocol/header-value.ts';
import { Method } from '../../../protocol/methods.ts';

type Headers = (name: string) => string | undefined;

/**
 * The parameter that `Mcp-Name` repeats, by method. The tasks extension adds its own (Streamable HTTP: Routing
 * Headers).
 */
export const NAMED: Readonly<Record<string, string>> = {
  [Method.CallTool]: 'name',
  [Method.GetPrompt]: 'name',
  [Method.ReadResource]: 'uri',
  [Method.GetTask]: 'taskId',
  [Method.UpdateTask]: 'taskId',
  [Method.CancelTask]: 'taskId',
};

/** The revision in the header must match the one in the body (2026-07-28, transports: Protocol Version Header). */
export function checkVersionHeader(header: Headers, requested: string): void {
  const named = header('mcp-protocol-version');
  if (named === requested) return;
  throw Refusal.header(
    named === undefined
      ? 'MCP-Protocol-Version is missing'
      : `MCP-Protocol-Version is ${shortJson(named)}, and the body says ${shortJson(requested)}`,
  );
}

/**
 * Checks that the headers match the body, because intermediaries route by the headers (2026-07-28, transports: Server
 * Validation). Headers of a tool's own parameters are checked where the tool is known.
 */
export function checkHeaders(header: Headers, { method, params = {} }: Request): void {
  const named = header('mcp-method');
  if (named !== method) {
    throw Refusal.header(
      named === undefined
        ? 'Mcp-Method is missing'
        : `Mcp-Method is ${shortJson(named)}, and the body says ${shortJson(method)}`,
    );
  }
  const key = Object.hasOwn(NAMED, method) ? NAMED[method]! : undefined;
  if (key !== undefined) checkName(header('mcp-name'), key, params);
}

function checkName(value: string | undefined, key: string, params: JsonObject): void {
  const name: unknown = params[key];
  // The service validates the parameter itself.
  if (typeof name !== 'string') return;
  if (value === undefined) throw Refusal.header(`Mcp-Name is missing; it must repeat params.${key}`);
  const decoded = decodeHeaderValue(value);
  if (decoded === undefined) throw Refusal.header(`Mcp-Name is malformed: ${shortJson(value)}`);
  if (decoded !== name) {
    throw Refusal.header(`Mcp-Name is ${shortJson(decoded)}, and params.${key} is ${shortJson(name)}`);
  }
}
