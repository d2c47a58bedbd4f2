import { isObject, isStrings } from '../jsonrpc/message.ts';
import type { SampleParams, SamplingContent } from './sampling.ts';

/**
 * Refuses messages that must not be sent to a model (2025-11-25 and 2026-07-28, client/sampling: Message Content
 * Constraints): after an assistant message with tool uses there must be one user message with the results of all of
 * them, and nothing else.
 *
 * @throws TypeError that names the message by its position.
 */
export function checkSampling({ messages, maxTokens }: SampleParams): void {
  if (!Array.isArray(messages)) throw new TypeError('sample: messages must be an array');
  if (!Number.isSafeInteger(maxTokens) || maxTokens < 1)
    throw new TypeError('sample: maxTokens must be a positive integer');
  checkMessages(messages, 'sample: ');
}

/**
 * Like `checkSampling`, for messages only.
 *
 * @param before the start of the error message.
 * @throws TypeError that names the message by its position.
 */
export function checkMessages(messages: readonly unknown[], before = ''): void {
  let open: readonly string[] = [];
  for (const [index, message] of messages.entries()) open = next(open, message, `${before}messages[${index}]`);
  if (open.length > 0) throw new TypeError(`${before}results are missing for the tool uses ${open.join(', ')}`);
}

/** The tool uses that are still open after a message. `open` has those before it. */
function next(open: readonly string[], message: unknown, where: string): readonly string[] {
  if (!isObject(message)) throw new TypeError(`${where} must be an object`);
  const { role, content } = message;
  const blocks = (Array.isArray(content) ? content : [content]) as SamplingContent[];
  if (!blocks.every(isObject)) throw new TypeError(`${where} must have content: an object, or a list of objects`);
  const results = blocks.flatMap((block) => (block.type === 'tool_result' ? [block.toolUseId] : []));
  const uses = blocks.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
  // V8 takes minutes for a set of numbers that were chosen to have the same hash.
  if (!isStrings(results) || !isStrings(uses))
    throw new TypeError(`${where} has an id of a tool use that is not a string`);
  if (role !== 'assistant' && uses.length > 0)
    throw new TypeError(`${where} has tool uses but its role is not assistant`);
  if (new Set(uses).size < uses.length) throw new TypeError(`${where} has two tool uses with the same id`);
  if (open.length === 0 && results.length === 0) return uses;
  if (role !== 'user')
    throw new TypeError(`${where} must have the role user and the results of ${list(open, results)}`);
  if (results.length < blocks.length)
    throw new TypeError(`${where} must have only the results of ${list(open, results)}`);
  const given = new Set(results);
  const missing = open.filter((id) => !given.has(id));
  if (missing.length > 0) throw new TypeError(`${where} lacks the results of the tool uses ${missing.join(', ')}`);
  const expected = new Set(open);
  // Each result is expected once.
  const strange = results.filter((id) => !expected.delete(id));
  if (strange.length > 0) {
    throw new TypeError(`${where} has results without a tool use in the message before: ${strange.join(', ')}`);
  }
  return uses;
}

function list(open: readonly string[], results: readonly string[]): string {
  return [...new Set([...open, ...results])].join(', ');
}
