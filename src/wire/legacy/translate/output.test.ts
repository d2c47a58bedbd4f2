import { expect, test } from 'vitest';
import { LEGACY_REVISIONS, REVISIONS } from '../../../protocol/revisions.ts';
import { shapeTool } from './lists.ts';
import { shapeOutput } from './output.ts';

const profile = REVISIONS['2025-11-25'];
const plain = { name: 'plain', inputSchema: { type: 'object' } };
const array = { ...plain, outputSchema: { type: 'array' } };
const union = { ...plain, outputSchema: { anyOf: [{ type: 'object' }, { type: 'string' }] } };
const textContent = [{ type: 'text', text: 'said' }];

test.each(LEGACY_REVISIONS)('%s gets no output schema that is not for an object', (revision) => {
  for (const tool of [array, union]) expect(shapeTool(tool, REVISIONS[revision])).toEqual(plain);
});

test.each(['2025-06-18', '2025-11-25'] as const)('%s gets an output schema that describes an object', (revision) => {
  const record = { ...plain, outputSchema: { type: 'object' } };
  expect(shapeTool(record, REVISIONS[revision])).toBe(record);
});

test.each([[[1, 2]], ['text'], [3], [true], [null]])(
  'structured content that is not an object is omitted: %j',
  (value) => {
    expect(shapeOutput({ content: textContent, structuredContent: value }, profile)).toEqual({ content: textContent });
  },
);

test.each(['2024-11-05', '2025-03-26'] as const)('%s gets no structured content', (revision) => {
  const result = { content: textContent, structuredContent: { a: 1 }, isError: false };
  expect(shapeOutput(result, REVISIONS[revision])).toEqual({ content: textContent, isError: false });
});

const image = { type: 'image', data: '', mimeType: 'image/png' };
test.each([
  ['no content', undefined, []],
  ['empty content', [], []],
  ['an image alone', [image], [image]],
])('omitted structured content becomes text if there is %s', (_, content, kept) => {
  const text = { type: 'text', text: '{"a":1}' };
  expect(shapeOutput({ content, structuredContent: { a: 1 } }, REVISIONS['2025-03-26'])).toEqual({
    content: [...kept, text],
  });
});

test('the newest revision gets everything unchanged', () => {
  const newest = REVISIONS['2026-07-28'];
  const result = { content: [], structuredContent: [] };
  expect(shapeOutput(result, newest)).toBe(result);
  expect(shapeTool(array, newest)).toBe(array);
});

test('a result that needs no change stays the same object', () => {
  for (const result of [{}, { content: [], structuredContent: {} }]) expect(shapeOutput(result, profile)).toBe(result);
});
