import { isObject, type JsonObject } from '../../../jsonrpc/message.ts';
import type { RevisionProfile } from '../../../protocol/revisions.ts';
import { shapeAnnotations } from './content.ts';
import { each, inside, put, without } from '../../../jsonrpc/shape.ts';

/**
 * Converts a tool to its form in a revision. A tool without `title` gets the title of its annotations (2025-03-26,
 * server/tools: Tool). In revisions where structured results must be objects, one other `outputSchema` makes a client
 * reject the whole list, so that schema is removed (2025-11-25, server/tools: Tool).
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

/** Replaces `true` and `false` as property schemas with equivalent objects. */
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

/** Converts a resource to its form in a revision. */
export function shapeResource(resource: JsonObject, profile: RevisionProfile): JsonObject {
  return shapeAnnotations(without(resource, profile.unknown.properties.Resource), profile);
}

/** Converts a resource template to its form in a revision. */
export function shapeResourceTemplate(template: JsonObject, profile: RevisionProfile): JsonObject {
  return shapeAnnotations(without(template, profile.unknown.properties.ResourceTemplate), profile);
}

/** Converts a prompt to its form in a revision. */
export function shapePrompt(prompt: JsonObject, { unknown: { properties } }: RevisionProfile): JsonObject {
  const shaped = without(prompt, properties.Prompt);
  if (properties.PromptArgument === undefined) return shaped;
  const named = each(shaped['arguments'], (argument) => without(argument, properties.PromptArgument));
  return put(shaped, 'arguments', named);
}
