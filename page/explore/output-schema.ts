import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { complaint } from '../../src/schema/complaint.ts';
import { JsonSchema } from '../../src/schema/json-schema.ts';

/** Why a structured content does not match the schema that its tool declares. Undefined if it matches. */
export function outputProblem(outputSchema: JsonObject, value: unknown): string | undefined {
  if (value === undefined) return 'The tool declares an outputSchema, but the result has no structured content.';
  let schema: JsonSchema;
  try {
    schema = new JsonSchema(outputSchema, 'The outputSchema');
  } catch (error) {
    return `The result was not checked: ${(error as Error).message}`;
  }
  const result = schema.validate(value);
  const issues = 'issues' in result ? result.issues : undefined;
  return issues && `The structured content does not match the tool’s outputSchema: ${complaint(issues)}`;
}
