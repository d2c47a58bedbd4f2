import { inShortTurns } from '../base/short-turns.ts';
import type { Caller } from '../core/exchange.ts';
import { peerOf } from '../core/peer-of.ts';
import { isObject } from '../jsonrpc/message.ts';
import { isConstant } from '../jsonrpc/stringify.ts';
import { weightOf } from '../jsonrpc/weight.ts';

/** A result with more bytes (estimated) is large. */
const LARGE = 64 * 1024;

/**
 * Answers with a result. It takes long to write large results as JSON, so many of them that are ready together are written in
 * several turns of the event loop.
 *
 * @param answer must not throw.
 */
export function answerInTurns(result: unknown, caller: Caller, answer: () => void): void {
  if (mayTakeLong(result)) void inShortTurns(answer, peerOf(caller));
  else answer();
}

function mayTakeLong(result: unknown): boolean {
  if (!isObject(result)) return false;
  // Its JSON is known, but a transport may have to copy it. It is not weighed for each of its answers: that takes long, too.
  if (isConstant(result)) return true;
  try {
    return weightOf(result, LARGE) > LARGE;
  } catch {
    // A getter has thrown. It will throw again, so that the answer is an error.
    return false;
  }
}
