import { expect, test } from 'vitest';
import { QuestionInbox } from './question-inbox.ts';

const MEBI = 1024 * 1024;

test('questions are limited by their JSON text too, which each state repeats', () => {
  const inbox = new QuestionInbox(() => {});
  const { signal } = new AbortController();
  const ask = (message: string) => inbox.ask('elicitation/create', { message }, signal);
  void ask('a'.repeat(3 * MEBI));
  void ask('\u0001'.repeat(2 * MEBI));
  expect(() => ask('\u0001'.repeat(MEBI))).toThrow('Too many questions wait for an answer');
  void ask('a'.repeat(MEBI / 2));
});
