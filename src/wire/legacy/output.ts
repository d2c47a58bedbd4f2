import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import type { RevisionProfile } from '../../protocol/revisions.ts';

/** A list that is served again and again is frozen, and shaped once. */
const shaped = new WeakMap<JsonObject, JsonObject>();

/**
 * A result with the structured output that a revision knows. Before any JSON value may be one, a client refuses the
 * whole list for one tool whose `outputSchema` is not about an object (2025-11-25, server/tools: Tool), so the schema
 * goes, and the value with it: its text says the same. Often the same object.
 */
export function shapeOutput(result: JsonObject, profile: RevisionProfile): JsonObject {
  if (profile.anyOutput) return result;
  const { tools, structuredContent } = result;
  if (Array.isArray(tools)) return shapeList(result, tools);
  if (structuredContent === undefined || isObject(structuredContent)) return result;
  const { structuredContent: _value, ...rest } = result;
  return rest;
}

function shapeList(result: JsonObject, tools: readonly unknown[]): JsonObject {
  let list = shaped.get(result);
  if (list) return list;
  list = tools.some(hasOtherOutput) ? { ...result, tools: tools.map(withoutOtherOutput) } : result;
  if (Object.isFrozen(result) && Object.isFrozen(tools)) shaped.set(result, list);
  return list;
}

function hasOtherOutput(tool: unknown): tool is JsonObject {
  if (!isObject(tool) || tool['outputSchema'] === undefined) return false;
  return !isObject(tool['outputSchema']) || tool['outputSchema']['type'] !== 'object';
}

function withoutOtherOutput(tool: unknown): unknown {
  if (!hasOtherOutput(tool)) return tool;
  const { outputSchema: _schema, ...rest } = tool;
  return rest;
}
