import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import type { RevisionProfile } from '../../protocol/revisions.ts';
import { without } from '../../jsonrpc/shape.ts';

/**
 * The result of a tool with the structured output that a revision knows. What it does not know goes: the text of the
 * result says the same (2025-06-18, server/tools: Structured Content), and is made where there is none. Often the same
 * object.
 */
export function shapeOutput(result: JsonObject, profile: RevisionProfile): JsonObject {
  const { structuredContent } = result;
  if (structuredContent === undefined || knowsOutput(structuredContent, profile)) return result;
  const rest = without(result, ['structuredContent']);
  const content: unknown[] = Array.isArray(rest['content']) ? rest['content'] : [];
  if (content.some((block) => isObject(block) && block['type'] === 'text')) return rest;
  return { ...rest, content: [...content, { type: 'text', text: JSON.stringify(structuredContent) }] };
}

/** Before any JSON value may be one, it is an object (2025-11-25, server/tools: Structured Content). */
function knowsOutput(value: unknown, { structuredContent, anyOutput }: RevisionProfile): boolean {
  return structuredContent && (anyOutput || isObject(value));
}
