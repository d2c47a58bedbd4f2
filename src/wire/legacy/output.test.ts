import { expect, test } from 'vitest';
import { LEGACY_REVISIONS, REVISIONS } from '../../protocol/revisions.ts';
import { shapeOutput } from './output.ts';

const profile = REVISIONS['2025-11-25'];
const plain = { name: 'plain', inputSchema: { type: 'object' } };
const record = { ...plain, name: 'record', outputSchema: { type: 'object' } };
const array = { ...plain, name: 'array', outputSchema: { type: 'array' } };
const union = { ...plain, name: 'union', outputSchema: { anyOf: [{ type: 'object' }, { type: 'string' }] } };

test.each(LEGACY_REVISIONS)('%s gets no output schema that is not about an object', (revision) => {
  const result = { tools: [plain, record, array, union], nextCursor: 'c' };
  expect(shapeOutput(result, REVISIONS[revision])).toEqual({
    tools: [plain, record, { ...plain, name: 'array' }, { ...plain, name: 'union' }],
    nextCursor: 'c',
  });
});

test.each([[[1, 2]], ['text'], [3], [true], [null]])(
  'a structured value that is no object is left out: %j',
  (value) => {
    const content = [{ type: 'text', text: JSON.stringify(value) }];
    expect(shapeOutput({ content, structuredContent: value }, profile)).toEqual({ content });
  },
);

test('the newest revision gets all as it is', () => {
  for (const result of [{ tools: [array] }, { content: [], structuredContent: [] }])
    expect(shapeOutput(result, REVISIONS['2026-07-28'])).toBe(result);
});

test('what needs no shaping stays the same object', () => {
  for (const result of [{}, { tools: [plain, record, null] }, { content: [], structuredContent: {} }])
    expect(shapeOutput(result, profile)).toBe(result);
});

test('a list that cannot change is shaped once, any other each time', () => {
  const frozen = Object.freeze({ tools: Object.freeze([array]) });
  expect(shapeOutput(frozen, profile)).toBe(shapeOutput(frozen, profile));
  const open = { tools: [plain] };
  expect(shapeOutput(open, profile)).toBe(open);
  open.tools.push(array);
  expect(shapeOutput(open, profile)['tools'][1]).not.toHaveProperty('outputSchema');
});
