import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import type { RevisionProfile } from '../../protocol/revisions.ts';
import { each, inside, put, without } from '../../jsonrpc/shape.ts';

/**
 * A result with the content blocks that a revision knows: those that came later are told of in text, so that a client
 * that checks what it gets does not refuse the rest with them. Often the same object.
 */
export function shapeContent(result: JsonObject, profile: RevisionProfile): JsonObject {
  if (knowsContent(profile)) return result;
  // `tools/call` has blocks, `prompts/get` has messages with one each.
  const content = each(result['content'], (block) => shapeBlock(block, profile));
  const messages = each(result['messages'], (message) =>
    inside(message, 'content', (block) => shapeBlock(block, profile)),
  );
  return put(put(result, 'content', content), 'messages', messages);
}

/** Whether a revision knows all content that there is. */
function knowsContent({ audio, structuredContent, unknown: { properties } }: RevisionProfile): boolean {
  return audio && structuredContent && properties.Annotations === undefined && properties.ResourceLink === undefined;
}

/** A content block that a revision knows. */
export function shapeBlock(block: JsonObject, profile: RevisionProfile): JsonObject {
  const { type, annotations } = block;
  if (type === 'audio' && !profile.audio) return told(`[audio, ${String(block['mimeType'])}]`, annotations, profile);
  if (type === 'resource_link') {
    if (!profile.structuredContent)
      return told(`${String(block['name'])}: ${String(block['uri'])}`, annotations, profile);
    return shapeAnnotations(without(block, profile.unknown.properties.ResourceLink), profile);
  }
  return shapeAnnotations(block, profile);
}

/** Something with the annotations that a revision knows. */
export function shapeAnnotations(annotated: JsonObject, { unknown: { properties } }: RevisionProfile): JsonObject {
  if (properties.Annotations === undefined || annotated['annotations'] === undefined) return annotated;
  return inside(annotated, 'annotations', (annotations) => without(annotations, properties.Annotations));
}

function told(text: string, annotations: unknown, profile: RevisionProfile): JsonObject {
  const block = { type: 'text', text };
  return isObject(annotations) ? shapeAnnotations({ ...block, annotations }, profile) : block;
}
