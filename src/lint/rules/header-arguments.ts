import { isObject } from '../../jsonrpc/message.ts';

/** An argument that a tool marks with `x-mcp-header` (2026-07-28, server/tools). */
export interface MarkedArgument {
  readonly header: string;
  /** The names of the properties that lead to it. */
  readonly path: readonly string[];
  readonly schema: Readonly<Record<string, unknown>>;
}

const MAX_DEPTH = 32;

/** The arguments that an input schema marks, where a chain of `properties` leads. */
export function* markedArguments(schema: unknown, path: readonly string[] = []): Generator<MarkedArgument> {
  if (!isObject(schema) || path.length > MAX_DEPTH) return;
  const header: unknown = schema['x-mcp-header'];
  if (typeof header === 'string' && path.length > 0) yield { header, path, schema };
  const properties: unknown = schema['properties'];
  if (isObject(properties))
    for (const [name, each] of Object.entries(properties)) yield* markedArguments(each, [...path, name]);
}

/** How often `x-mcp-header` is a keyword anywhere in a schema. */
export function countMarks(schema: unknown, depth = 0): number {
  if (typeof schema !== 'object' || schema === null || depth > MAX_DEPTH) return 0;
  let count = isObject(schema) && 'x-mcp-header' in schema && !isPropertyMap(schema) ? 1 : 0;
  for (const each of Object.values(schema)) count += countMarks(each, depth + 1);
  return count;
}

/** A property may have the name of the keyword. */
function isPropertyMap(schema: Readonly<Record<string, unknown>>): boolean {
  return isObject(schema['x-mcp-header']);
}
