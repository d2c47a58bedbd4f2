import { isObject, type JsonObject } from '../../../jsonrpc/message.ts';
import { Method } from '../../../protocol/methods.ts';
import type { Work } from '../../../schema/work.ts';
import { paramHeaders, type ParamHeader } from '../../../protocol/param-headers.ts';
import { subschemasOf } from '../../../schema/subschemas.ts';
import { ToolCatalog, type ToolCatalogOptions } from '../../tool-catalog.ts';

/** Which arguments of a tool headers say again, or why the tool must not be offered. */
export type ToolHeaders = readonly ParamHeader[] | Error;

const NONE: readonly ParamHeader[] = [];

/**
 * What the tools of a server ask for by `x-mcp-header` (2026-07-28, basic/transports/streamable-http: Custom Headers from
 * Tool Parameters). One that is not in the list asks for nothing.
 */
export function headerCatalog<Reader = void>(
  options: Omit<ToolCatalogOptions<ToolHeaders, Reader>, 'keep' | 'absent'>,
): ToolCatalog<ToolHeaders, Reader> {
  return new ToolCatalog<ToolHeaders, Reader>({ ...options, keep: headersOf, absent: NONE });
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
