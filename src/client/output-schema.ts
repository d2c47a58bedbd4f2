import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonObject } from '../jsonrpc/message.ts';
import { complaint } from '../protocol/complaint.ts';
import { PlainSchema } from '../protocol/plain-schema.ts';
import { refuseExternalReferences, subschemasOf } from '../protocol/subschemas.ts';
import { InvalidResultError } from './errors.ts';

/**
 * The output schema of a tool, to check its results. It is a stranger's: what it refers to is never fetched, and patterns
 * are not checked, for a regular expression can be made to take for ever.
 *
 * @throws TypeError where it cannot be used.
 */
export function outputSchemaOf(name: string, output: JsonObject): PlainSchema {
  const owner = `The output schema of the tool ${name}`;
  const copy = structuredClone(output);
  const subschemas = subschemasOf(copy, owner);
  refuseExternalReferences(subschemas, owner);
  for (const { schema } of subschemas) {
    delete schema['pattern'];
    // Without its patterns the rest of such a schema would say something else.
    if (schema['patternProperties'] !== undefined) throw new TypeError(`${owner} has patternProperties`);
  }
  return new PlainSchema(copy, owner);
}

/** @throws InvalidResultError that says what is wrong; `what` says with what. */
export function refuse(name: string, what: string, issues: readonly StandardSchemaV1.Issue[]): never {
  throw new InvalidResultError(`The result of the tool ${name} ${what}: ${complaint(issues)}`);
}
