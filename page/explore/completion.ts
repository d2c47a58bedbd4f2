import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { isStrings } from '../../src/jsonrpc/message.ts';
import type { Session } from './explorer.ts';

/** The prompt or template whose argument is completed (server/utilities/completion: Reference Types). */
export type Reference =
  | { readonly type: 'ref/prompt'; readonly name: string }
  | { readonly type: 'ref/resource'; readonly uri: string };

/** The most values that an answer may have (server/utilities/completion: Completion Results). */
const MAX_VALUES = 100;

/**
 * The values that the server suggests for an argument. None if it suggests none, or fails.
 *
 * @param others the values of the other arguments.
 */
export async function complete(
  session: Session,
  ref: Reference,
  argument: { readonly name: string; readonly value: string },
  others: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const params: JsonObject = { ref, argument };
  if (Object.keys(others).length > 0) params['context'] = { arguments: others };
  const outcome = await session.send('completion/complete', params).settled;
  if (outcome.kind !== 'result') return [];
  const values: unknown = outcome.result['completion']?.['values'];
  return isStrings(values) ? values.slice(0, MAX_VALUES) : [];
}
