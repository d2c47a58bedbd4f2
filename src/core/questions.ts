import { quoting, shortJson } from '../base/short-text.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { missingCapability } from '../protocol/capabilities.ts';
import { McpErrorCode } from '../protocol/errors.ts';
import { CAN_REQUIRE_INPUT, Method, QUESTIONS } from '../protocol/methods.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import type { Caller } from './exchange.ts';
import { Refusal } from './refusal.ts';

/** What a user can do with an elicitation (client/elicitation: Response Actions). */
export const ELICIT_ACTIONS: ReadonlySet<unknown> = new Set(['accept', 'decline', 'cancel']);

/**
 * Checks that a caller can be asked this question.
 *
 * @throws RpcError −32601 if its revision has no such method, −32021 if it did not declare the required capability.
 */
export function checkQuestion(method: string, params: JsonObject, { capabilities, revision }: Caller): void {
  if (!QUESTIONS.has(method)) {
    const message = quoting`${method} was not sent: a client of ${revision} has no such method`;
    throw new RpcError(ErrorCode.MethodNotFound, message);
  }
  const missing = missingCapability(method, params, capabilities, REVISIONS[revision]);
  if (missing !== undefined) throw undeclared(method, missing);
}

/** 2026-07-28, basic: Per-request protocol fields. */
function undeclared(method: string, capability: string): RpcError {
  // `sampling.tools` is required as { sampling: { tools: {} } }.
  const requiredCapabilities = capability.split('.').reduceRight<JsonObject>((inner, name) => ({ [name]: inner }), {});
  return new RpcError(
    McpErrorCode.MissingRequiredClientCapability,
    `${method} was not sent: the client did not declare the ${capability} capability`,
    { data: { requiredCapabilities } },
  );
}

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
 * Checks that an answer has the shape that its question requires. The handler validates the content.
 *
 * @throws Refusal
 */
export function checkAnswer(key: string, method: string, answer: unknown): asserts answer is JsonObject {
  if (!isObject(answer)) throw wrong(key, 'must be an object');
  switch (method) {
    case Method.Elicit:
      if (!ELICIT_ACTIONS.has(answer['action'])) throw wrong(key, 'needs an "action": accept, decline or cancel');
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
  return Refusal.params(`the response ${shortJson(key)} in "inputResponses" ${why}`);
}

/** @throws RpcError if a request with this method must be answered without questions (2026-07-28, patterns/mrtr). */
export function mustAllowQuestions(method: string): void {
  if (CAN_REQUIRE_INPUT.has(method)) return;
  throw new RpcError(ErrorCode.InternalError, quoting`${method} must be answered without questions`);
}
