import type { JsonObject } from '../jsonrpc/message.ts';

/** Thrown by the handler of a question: the client sends this answer as it is, even if it is wrong. For tests. */
export class UncheckedAnswer extends Error {
  override readonly name = 'UncheckedAnswer';
  readonly answer: JsonObject;

  constructor(answer: JsonObject) {
    super('This answer is not checked');
    this.answer = answer;
  }
}
