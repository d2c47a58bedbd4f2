import { describe, expect, test } from 'vitest';
import { collidingNumbers } from '../../test/support/colliding-numbers.ts';
import type { SamplingContent, SamplingMessage } from './sampling.ts';
import { checkMessages, checkSampling } from './sampling-rules.ts';

const text: SamplingContent = { type: 'text', text: 'hi' };
const use = (id: string): SamplingContent => ({ type: 'tool_use', id, name: 'add', input: {} });
const result = (toolUseId: string): SamplingContent => ({ type: 'tool_result', toolUseId, content: [] });
const user = (...content: SamplingContent[]): SamplingMessage => ({ role: 'user', content });
const assistant = (...content: SamplingContent[]): SamplingMessage => ({ role: 'assistant', content });
const check = (...messages: SamplingMessage[]) => checkSampling({ messages, maxTokens: 1 });

test.each<[string, SamplingMessage[]]>([
  ['nothing', []],
  ['one block instead of a list', [{ role: 'user', content: text }]],
  [
    'one tool result instead of a list',
    [
      { role: 'assistant', content: use('1') },
      { role: 'user', content: result('1') },
    ],
  ],
  ['several results in any order', [user(text), assistant(text, use('1'), use('2')), user(result('2'), result('1'))]],
  ['one tool round after another', [assistant(use('1')), user(result('1')), assistant(use('1')), user(result('1'))]],
  ['two messages with the same role', [user(text), user(text), assistant(text), assistant(text)]],
])('messages may contain %s', (_, messages) => {
  expect(() => check(...messages)).not.toThrow();
});

describe('messages must not contain', () => {
  test.each<[string, SamplingMessage[], string]>([
    [
      'tool results and text',
      [assistant(use('1')), user(result('1'), text)],
      'messages[1] must have only the results of 1',
    ],
    ['text instead of tool results', [assistant(use('1')), user(text)], 'messages[1] must have only the results of 1'],
    [
      'only some of the tool results',
      [assistant(use('1'), use('2')), user(result('1'))],
      'messages[1] lacks the results of the tool uses 2',
    ],
    ['tool results without a tool use', [user(text), user(result('1'))], 'messages[1] has results without a tool use'],
    ['an extra tool result', [assistant(use('1')), user(result('1'), result('2'))], 'before: 2'],
    ['the same tool result twice', [assistant(use('1')), user(result('1'), result('1'))], 'before: 1'],
    [
      'tool results of the assistant',
      [assistant(use('1')), assistant(result('1'))],
      'messages[1] must have the role user',
    ],
    ['another message of the assistant', [assistant(use('1')), assistant(text)], 'messages[1] must have the role user'],
    ['tool uses of the user', [user(use('1'))], 'messages[0] has tool uses but its role is not assistant'],
    ['the same id for two tool uses', [assistant(use('1'), use('1'))], 'two tool uses with the same id'],
    [
      'tool uses in the last message',
      [user(text), assistant(use('1'), use('2'))],
      'results are missing for the tool uses 1, 2',
    ],
  ])('%s', (_, messages, message) => {
    expect(() => check(...messages)).toThrow(TypeError);
    expect(() => check(...messages)).toThrow(message);
  });
});

test.each([0, -1, 0.5, Number.NaN, undefined])('%s is not a valid maxTokens', (maxTokens) => {
  expect(() => checkSampling({ messages: [], maxTokens: maxTokens as number })).toThrow('maxTokens');
});

test.each([
  [null],
  [7],
  ['hi'],
  [{ role: 'user' }],
  [{ role: 'user', content: 'hi' }],
  [{ role: 'user', content: [null] }],
])('%j is not a valid message', (message) => {
  expect(() => checkMessages([{ role: 'user', content: text }, message])).toThrow(/^messages\[1\] must/);
});

test('very many tool uses with long ids take little time', () => {
  const ids = Array.from({ length: 16_000 }, (_, n) => 'x'.repeat(450) + String(n));
  const sent = JSON.stringify([
    { role: 'assistant', content: ids.map((id) => ({ type: 'tool_use', id, name: 'a', input: {} })) },
    { role: 'user', content: ids.map((toolUseId) => ({ type: 'tool_result', toolUseId, content: [] })).toReversed() },
  ]);
  const messages = JSON.parse(sent) as unknown[];
  const before = process.cpuUsage();
  checkMessages(messages);
  // The processor time of this process only. It took 7 seconds when each id was compared with all others.
  expect(process.cpuUsage(before).user).toBeLessThan(250_000);
});

test('ids of tool uses that are numbers with one hash are refused in linear time', () => {
  const uses = collidingNumbers(40_000).map((id) => ({ type: 'tool_use', id }) as unknown as SamplingContent);
  const started = process.cpuUsage();
  expect(() => check(assistant(...uses))).toThrow('an id of a tool use that is not a string');
  expect(process.cpuUsage(started).user).toBeLessThan(500_000);
});
