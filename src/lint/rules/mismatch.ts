import type { JsonObject } from '../../jsonrpc/message.ts';
import { complaint } from '../../schema/complaint.ts';
import { JsonSchema } from '../../schema/json-schema.ts';

/** What is wrong with a value. Undefined if nothing is, or if the schema cannot be used. */
export function mismatch(schema: JsonObject, value: unknown): string | undefined {
  try {
    const { issues } = new JsonSchema(schema, 'the schema').validate(value);
    return issues && complaint(issues);
  } catch {
    return undefined;
  }
}
