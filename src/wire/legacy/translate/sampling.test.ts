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

  test.each([[use], [given], [[given]]])('messages about tools are not sent: %j', (content) => {
    expect(() => shapeSampling(messages(content), profile)).toThrow(expect.objectContaining({ code: -32601 }));
  });

  test('a message with several blocks becomes several messages, each with the same properties', () => {
    const [a, b] = ['a', 'b'].map((text) => ({ type: 'text', text }));
    const one = { role: 'user', content: [a, b], _meta: { own: 1 } };
    expect(shapeSampling({ maxTokens: 1, messages: [one] }, profile)['messages']).toEqual([
      { ...one, content: a },
      { ...one, content: b },
    ]);
  });

  test('messages are not sent if several blocks would repeat very long properties', () => {
    const content = Array.from({ length: 1000 }, () => ({ type: 'text', text: 'a' }));
    const message = (length: number) => ({ role: 'user', content, extra: 'x'.repeat(length) });
    expect(shapeSampling({ messages: [message(8000), message(8000)] }, profile)['messages']).toHaveLength(2000);
    for (const long of [[message(17_000)], [message(9000), message(9000)]]) {
      expect(() => shapeSampling({ messages: long }, profile)).toThrow('too long for the revision of the client');
    }
  });

  test('supported messages stay the same object', () => {
    const params = messages({ type: 'text', text: 'a' });
    expect(shapeSampling(params, profile)).toBe(params);
  });
});

describe('in 2025-11-25', () => {
  const profile = REVISIONS['2025-11-25'];

  const { structuredContent: _value, ...bare } = given;
  const converted = { ...bare, content: [{ type: 'text', text: '[1]' }] };
  test.each([
    ['in a list', [given], [converted]],
    ['alone', given, converted],
  ])('a tool result that is not an object becomes text: %s', (_, content, expected) => {
    expect(shapeSampling(messages(content), profile)).toEqual(messages(expected));
  });

  test('tools have the output schemas that the revision supports', () => {
    const tool = { name: 'add', inputSchema: { type: 'object' } };
    const params = { ...messages(use), tools: [{ ...tool, outputSchema: { type: 'array' } }] };
    expect(shapeSampling(params, profile)).toEqual({ ...params, tools: [tool] });
  });
});

test('the newest revision gets the request unchanged', () => {
  const params = { ...messages([use], [given]), tools: [{ name: 'a', inputSchema: {}, outputSchema: true }] };
  expect(shapeSampling(params, REVISIONS['2026-07-28'])).toBe(params);
});
