import { Refusal } from '../../../core/refusal.ts';
import { isObject, type JsonObject } from '../../../jsonrpc/message.ts';
import { Method } from '../../../protocol/methods.ts';

const ACTIONS: ReadonlySet<unknown> = new Set(['accept', 'decline', 'cancel']);

/**
 * The `inputResponses` of a retry.
 *
 * @throws Refusal if they are not a map of results.
 */
export function readResponses({ inputResponses }: JsonObject): JsonObject {
  if (inputResponses === undefined) return {};
  if (!isObject(inputResponses)) throw Refusal.params('"inputResponses" must be an object');
  for (const [key, response] of Object.entries(inputResponses)) {
    if (!isObject(response)) throw wrong(key, 'must be an object');
  }
  return inputResponses;
}

/**
 * Checks that an answer has the shape that its question requires. The handler judges the content.
 *
 * @throws Refusal
 */
export function checkAnswer(key: string, method: string, answer: JsonObject): void {
  switch (method) {
    case Method.Elicit:
      if (!ACTIONS.has(answer['action'])) throw wrong(key, 'needs an "action": accept, decline or cancel');
      if (answer['content'] !== undefined && !isObject(answer['content']))
        throw wrong(key, '"content" must be an object');
      return;
    case Method.CreateMessage:
      if (answer['role'] !== 'assistant' && answer['role'] !== 'user') throw wrong(key, 'needs a "role"');
      if (typeof answer['model'] !== 'string') throw wrong(key, 'needs a string "model"');
      if (typeof answer['content'] !== 'object' || answer['content'] === null) throw wrong(key, 'needs "content"');
      return;
    case Method.ListRoots:
      if (!Array.isArray(answer['roots'])) throw wrong(key, 'needs an array "roots"');
      return;
  }
}

function wrong(key: string, why: string): Refusal {
  return Refusal.params(`the response ${JSON.stringify(key)} in "inputResponses" ${why}`);
}
