import type { JsonObject } from '../jsonrpc/message.ts';
import { refuseExpanding } from './expanded-size.ts';
import { PlainSchema } from './plain-schema.ts';
import { refuseExternalReferences, subschemasOf } from './subschemas.ts';

/**
 * A schema of the peer, to check values here. What it refers to is never fetched, and patterns are not checked, for a
 * regular expression can be made to take for ever. So it may take what the whole schema would not; it refuses nothing that
 * the whole schema would take.
 *
 * @param name of the schema, for errors.
 * @throws TypeError where it cannot be used, or takes more than 10,000 subschemas to check where its references are followed.
 */
export function foreignSchema(json: JsonObject, name: string): PlainSchema {
  const copy = structuredClone(json);
  const subschemas = subschemasOf(copy, name);
  refuseExternalReferences(subschemas, name);
  refuseExpanding(subschemas, name);
  // Without its patterns the rest of such a schema would say something else.
  if (subschemas.some(({ schema }) => schema['patternProperties'] !== undefined)) {
    throw new TypeError(`${name} has patternProperties`);
  }
  if (subschemas.some(({ schema }) => schema['pattern'] !== undefined)) {
    for (const { schema } of subschemas) withoutPatterns(schema);
  }
  return new PlainSchema(copy, name);
}

/** Where a part takes more than it says, what takes a value because a part does not would refuse more than it says. */
function withoutPatterns(schema: JsonObject): void {
  const { oneOf, allOf } = schema;
  if (Array.isArray(oneOf)) schema['allOf'] = [...(Array.isArray(allOf) ? allOf : []), { anyOf: oneOf }];
  for (const keyword of ['pattern', 'oneOf', 'not', 'if', 'then', 'else', 'maxContains']) delete schema[keyword];
}
