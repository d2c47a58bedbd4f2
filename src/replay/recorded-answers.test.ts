import { expect, test } from 'vitest';
import { RecordedAnswers } from './recorded-answers.ts';
import type { Question } from './session-requests.ts';

const METHOD = 'elicitation/create';

function question(message: string, name = message): Question {
  return { method: METHOD, params: { message }, answer: { jsonrpc: '2.0', id: 1, result: { name } } };
}

test('the same question of the request comes first, then of others, then any question of the request', () => {
  const own = [question('a', 'own a'), question('b', 'own b')];
  const answers = new RecordedAnswers([question('b', 'other b'), question('c', 'other c'), ...own]);
  const answer = (message: string): unknown => answers.answer(METHOD, { message }, own)['name'];
  expect(answer('b')).toBe('own b');
  expect(answer('c')).toBe('other c');
  expect(answer('d')).toBe('own a');
  expect(answer('d')).toBe('other b');
  expect(() => answer('d')).toThrow('The recording has no answer to elicitation/create');
});

test('an answer is found in linear time, however many questions a request had', () => {
  const own = Array.from({ length: 50_000 }, (_, at) => question(`${at}`));
  const answers = new RecordedAnswers(own);
  const start = process.cpuUsage();
  expect(answers.answer(METHOD, { message: '49999' }, own)).toEqual({ name: '49999' });
  expect(process.cpuUsage(start).user / 1000).toBeLessThan(500);
}, 60_000);
