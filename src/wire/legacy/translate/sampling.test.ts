import { describe, expect, test } from 'vitest';
import { REVISIONS } from '../../../protocol/revisions.ts';
import { shapeSampling } from './sampling.ts';

const use = { type: 'tool_use', id: '1', name: 'add', input: {} };
const given = { type: 'tool_result', toolUseId: '1', content: [], structuredContent: [1] };
const messages = (...contents: unknown[]) => ({
  maxTokens: 1,
  messages: contents.map((content) => ({ role: 'user', content })),
});

describe.each(['2024-11-05', '2025-03-26', '2025-06-18'] as const)('in %s', (revision) => {
  const profile = REVISIONS[revision];

  test.each([[use], [given], [[given]]])('messages that tell of tools are not sent: %j', (content) => {
    expect(() => shapeSampling(messages(content), profile)).toThrow(expect.objectContaining({ code: -32601 }));
  });

  test('a message of several parts becomes several, and what each of them carries stays', () => {
    const [a, b] = ['a', 'b'].map((text) => ({ type: 'text', text }));
    const one = { role: 'user', content: [a, b], _meta: { own: 1 } };
    expect(shapeSampling({ maxTokens: 1, messages: [one] }, profile)['messages']).toEqual([
      { ...one, content: a },
      { ...one, content: b },
    ]);
  });

  test('messages that it knows stay the same object', () => {
    const params = messages({ type: 'text', text: 'a' });
    expect(shapeSampling(params, profile)).toBe(params);
  });
});

describe('in 2025-11-25', () => {
  const profile = REVISIONS['2025-11-25'];

  const { structuredContent: _value, ...bare } = given;
  const told = { ...bare, content: [{ type: 'text', text: '[1]' }] };
  test.each([
    ['in a list', [given], [told]],
    ['alone', given, told],
  ])('a result of a tool says in text what is no object: %s', (_, content, expected) => {
    expect(shapeSampling(messages(content), profile)).toEqual(messages(expected));
  });

  test('tools have the output schemas that it knows', () => {
    const tool = { name: 'add', inputSchema: { type: 'object' } };
    const params = { ...messages(use), tools: [{ ...tool, outputSchema: { type: 'array' } }] };
    expect(shapeSampling(params, profile)).toEqual({ ...params, tools: [tool] });
  });
});

test('the newest revision is asked as it is', () => {
  const params = { ...messages([use], [given]), tools: [{ name: 'a', inputSchema: {}, outputSchema: true }] };
  expect(shapeSampling(params, REVISIONS['2026-07-28'])).toBe(params);
});
