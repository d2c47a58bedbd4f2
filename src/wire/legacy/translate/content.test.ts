import { expect, test } from 'vitest';
import { REVISIONS } from '../../../protocol/revisions.ts';
import { shapeContent } from './content.ts';

const text = { type: 'text', text: 'hello' };
const audio = { type: 'audio', data: '', mimeType: 'audio/wav', annotations: { priority: 1 } };
const link = { type: 'resource_link', uri: 'file:///a', name: 'a' };
const audioAsText = { type: 'text', text: '[audio, audio/wav]', annotations: { priority: 1 } };
const linked = { type: 'text', text: 'a: file:///a' };

test.each([
  ['2024-11-05', [text, audioAsText, linked]],
  ['2025-03-26', [text, audio, linked]],
  ['2025-06-18', [text, audio, link]],
  ['2025-11-25', [text, audio, link]],
] as const)('%s gets only the content blocks that it knows', (revision, content) => {
  const result = { content: [text, audio, link], isError: false };
  expect(shapeContent(result, REVISIONS[revision])).toEqual({ content, isError: false });
});

test('a member of a wrong type is described as JSON', () => {
  const odd = { toString: 1 };
  const content = [
    { type: 'audio', data: '', mimeType: odd },
    { type: 'resource_link', uri: odd, name: odd },
  ];
  expect(shapeContent({ content }, REVISIONS['2024-11-05'])).toEqual({
    content: [
      { type: 'text', text: '[audio, {"toString":1}]' },
      { type: 'text', text: '{"toString":1}: {"toString":1}' },
    ],
  });
});

test('the messages of a prompt are converted too', () => {
  const result = { description: 'd', messages: [{ role: 'user', content: link }] };
  const messages = [{ role: 'user', content: linked }];
  expect(shapeContent(result, REVISIONS['2024-11-05'])).toEqual({ description: 'd', messages });
});

test('content that needs no change stays the same object', () => {
  for (const result of [
    {},
    { content: [text] },
    { messages: [{ role: 'user', content: text }] },
    { content: [null, 'x'] },
  ]) {
    expect(shapeContent(result, REVISIONS['2024-11-05'])).toBe(result);
  }
});
