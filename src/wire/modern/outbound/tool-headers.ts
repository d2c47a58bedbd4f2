import { printableError } from '../../../base/printable.ts';
import { quoting } from '../../../base/short-text.ts';
import { isObject, type JsonObject } from '../../../jsonrpc/message.ts';
import { Method } from '../../../protocol/methods.ts';
import type { Work } from '../../../schema/work.ts';
import { paramHeaders, type ParamHeader } from '../../../core/param-headers.ts';
import { subschemasOf } from '../../../schema/subschemas.ts';
import { ToolCatalog, type ToolCatalogOptions } from '../../tool-catalog.ts';

/** Which arguments of a tool are repeated in headers, or why the tool cannot be used. */
export type ToolHeaders = readonly ParamHeader[] | Error;

const NONE: readonly ParamHeader[] = [];
/**
 * The most memory for what is known of a server's tools, in bytes (estimated). A bridge may have a hundred connections to
 * a server, and each remembers the names of its tools.
 */
const MAX_SIZE = 1024 * 1024;

/**
 * The headers that the tools of a server require with `x-mcp-header` (2026-07-28, basic/transports/streamable-http:
 * Custom Headers from Tool Parameters). A tool that is not in the list requires none.
 */
export function headerCatalog<Reader = void>(
  options: Omit<ToolCatalogOptions<ToolHeaders, Reader>, 'keep' | 'absent' | 'maxSize'>,
): ToolCatalog<ToolHeaders, Reader> {
  return new ToolCatalog<ToolHeaders, Reader>({ ...options, keep: headersOf, absent: NONE, maxSize: MAX_SIZE });
}

function headersOf(tool: JsonObject, name: string, work: Work): ToolHeaders {
  const owner = quoting`Tool ${name}`;
  try {
    const schema: unknown = tool['inputSchema'];
    if (!isObject(schema)) return NONE;
    return paramHeaders(subschemasOf(schema, `${owner}: the input schema`, work), owner) ?? NONE;
  } catch (error) {
    return printableError(`${(error as Error).message}; the tool is left out`, { cause: error });
  }
}

/** Whether a request may need headers for its arguments. */
export function callsTool(method: string, params: JsonObject): boolean {
  return method === Method.CallTool && typeof params['name'] === 'string';
}
