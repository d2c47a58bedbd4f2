import { asText } from '../../../base/short-text.ts';
import { isObject, type JsonObject } from '../../../jsonrpc/message.ts';
import type { RevisionProfile } from '../../../protocol/revisions.ts';
import { each, inside, put, without } from '../../../jsonrpc/shape.ts';

/**
 * Changes a result to the content blocks that a revision knows. A newer block becomes a text block that describes it,
 * so that a strict client does not reject the whole result. Often returns the same object.
 */
export function shapeContent(result: JsonObject, profile: RevisionProfile): JsonObject {
  if (knowsContent(profile)) return result;
  // `tools/call` has a list of blocks. Each message of `prompts/get` has one block.
  const content = each(result['content'], (block) => shapeBlock(block, profile));
  const messages = each(result['messages'], (message) =>
    inside(message, 'content', (block) => shapeBlock(block, profile)),
  );
  return put(put(result, 'content', content), 'messages', messages);
}

/** Whether a revision knows every kind of content. */
function knowsContent({ audio, structuredContent, unknown: { properties } }: RevisionProfile): boolean {
  return audio && structuredContent && properties.Annotations === undefined && properties.ResourceLink === undefined;
}

/** Changes a content block to one that the revision knows. */
export function shapeBlock(block: JsonObject, profile: RevisionProfile): JsonObject {
  const { type, annotations } = block;
  if (type === 'audio' && !profile.audio)
    return describedAsText(`[audio, ${asText(block['mimeType'])}]`, annotations, profile);
  if (type === 'resource_link') {
    if (!profile.structuredContent)
      return describedAsText(`${asText(block['name'])}: ${asText(block['uri'])}`, annotations, profile);
    return shapeAnnotations(without(block, profile.unknown.properties.ResourceLink), profile);
  }
  return shapeAnnotations(block, profile);
}

/** Removes the annotations that a revision does not know. */
export function shapeAnnotations(annotated: JsonObject, { unknown: { properties } }: RevisionProfile): JsonObject {
  if (properties.Annotations === undefined || annotated['annotations'] === undefined) return annotated;
  return inside(annotated, 'annotations', (annotations) => without(annotations, properties.Annotations));
}

function describedAsText(text: string, annotations: unknown, profile: RevisionProfile): JsonObject {
  const block = { type: 'text', text };
  return isObject(annotations) ? shapeAnnotations({ ...block, annotations }, profile) : block;
}
