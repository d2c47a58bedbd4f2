import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import type { RevisionProfile } from '../../protocol/revisions.ts';
import { shapeAnnotations } from './content.ts';
import { each, inside, put, without } from '../../jsonrpc/shape.ts';

/**
 * A tool as a revision knows it. Where there is no `title` but there are annotations, it is theirs (2025-03-26,
 * server/tools: Tool). Before any JSON value may be a structured result, a client refuses the whole list for one tool
 * whose `outputSchema` is not about an object (2025-11-25, server/tools: Tool), so that schema goes.
 */
export function shapeTool(tool: JsonObject, profile: RevisionProfile): JsonObject {
  const { Tool: later = [] } = profile.unknown.properties;
  let shaped = without(tool, later);
  const { title, annotations } = tool;
  if (typeof title === 'string' && later.includes('title') && !later.includes('annotations'))
    shaped = { ...shaped, annotations: { title, ...(isObject(annotations) ? annotations : {}) } };
  if (profile.anyOutput) return shaped;
  const { outputSchema } = shaped;
  if (outputSchema !== undefined && !(isObject(outputSchema) && outputSchema['type'] === 'object'))
    shaped = without(shaped, ['outputSchema']);
  return inside(inside(shaped, 'inputSchema', withObjects), 'outputSchema', withObjects);
}

/** A schema whose properties all have schemas that are objects: `true` and `false` have one each that says the same. */
function withObjects(schema: JsonObject): JsonObject {
  return inside(schema, 'properties', (properties) =>
    Object.values(properties).some((value) => typeof value === 'boolean')
      ? Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, objectSchema(value)]))
      : properties,
  );
}

function objectSchema(schema: unknown): unknown {
  if (typeof schema !== 'boolean') return schema;
  return schema ? {} : { not: {} };
}

/** A resource as a revision knows it. */
export function shapeResource(resource: JsonObject, profile: RevisionProfile): JsonObject {
  return shapeAnnotations(without(resource, profile.unknown.properties.Resource), profile);
}

/** A resource template as a revision knows it. */
export function shapeResourceTemplate(template: JsonObject, profile: RevisionProfile): JsonObject {
  return shapeAnnotations(without(template, profile.unknown.properties.ResourceTemplate), profile);
}

/** A prompt as a revision knows it. */
export function shapePrompt(prompt: JsonObject, { unknown: { properties } }: RevisionProfile): JsonObject {
  const shaped = without(prompt, properties.Prompt);
  if (properties.PromptArgument === undefined) return shaped;
  const named = each(shaped['arguments'], (argument) => without(argument, properties.PromptArgument));
  return put(shaped, 'arguments', named);
}
