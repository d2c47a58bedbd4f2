import { inShortTurns } from '../base/short-turns.ts';
import { complaint } from '../schema/complaint.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';

/**
 * The values of a form, with defaults for the fields that were left out (2026-07-28, client/elicitation: Requested
 * Schema).
 *
 * @param whose whoever takes turns with others that check forms: the client of the server that asked.
 * @throws TypeError that names a field that does not match the form, or says what is wrong with the form.
 */
export async function filledIn(form: JsonObject, given: unknown, whose?: unknown): Promise<JsonObject> {
  if (given !== undefined && !isObject(given)) throw new TypeError('content must be an object');
  const { JsonSchema } = await import('../schema/json-schema.ts');
  const fields = isObject(form['properties']) ? Object.entries<unknown>(form['properties']) : [];
  const defaults = fields.flatMap(([name, field]) =>
    isObject(field) && field['default'] !== undefined ? [[name, field['default']]] : [],
  );
  const filled = Object.entries<unknown>(given ?? {}).filter(([, value]) => value !== undefined);
  const content: JsonObject = Object.fromEntries([...defaults, ...filled]);
  const schema = await inShortTurns(() => new JsonSchema(form, 'The form'), whose);
  const { issues } = await inShortTurns(() => schema.validate(content), whose);
  if (issues) throw new TypeError(complaint(issues));
  return content;
}
