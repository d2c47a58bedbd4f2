import { isObject, type JsonObject } from '../../../jsonrpc/message.ts';
import type { RevisionProfile } from '../../../protocol/revisions.ts';
import { without } from '../../../jsonrpc/shape.ts';

/**
 * Removes structured output that a revision does not know. The text of the result has the same content (2025-06-18,
 * server/tools: Structured Content), and is added if it is missing. Often returns the same object.
 */
export function shapeOutput(result: JsonObject, profile: RevisionProfile): JsonObject {
  const { structuredContent } = result;
  if (structuredContent === undefined || knowsOutput(structuredContent, profile)) return result;
  const rest = without(result, ['structuredContent']);
  const content: unknown[] = Array.isArray(rest['content']) ? rest['content'] : [];
  if (content.some((block) => isObject(block) && block['type'] === 'text')) return rest;
  return { ...rest, content: [...content, { type: 'text', text: JSON.stringify(structuredContent) }] };
}

/**
 * Whether a revision allows this value as structured content. Some revisions allow only objects (2025-11-25,
 * server/tools: Structured Content).
 */
function knowsOutput(value: unknown, { structuredContent, anyOutput }: RevisionProfile): boolean {
  return structuredContent && (anyOutput || isObject(value));
}
