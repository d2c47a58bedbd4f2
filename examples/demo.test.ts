import { expect, test } from 'vitest';
import { TestExchange } from '../test/support/exchange.ts';
import { server } from './demo.ts';

const ask = (method: string, params: object) => server.service(new TestExchange(method, { ...params }));

test('add returns text and structured content', async () => {
  expect(await ask('tools/call', { name: 'add', arguments: { a: 2, b: 4 } })).toEqual({
    content: [{ type: 'text', text: '6' }],
    structuredContent: { result: 6 },
  });
});

test('greeting is a resource template that accepts every name', async () => {
  expect(await ask('resources/read', { uri: 'greeting://Ada' })).toEqual({
    contents: [{ uri: 'greeting://Ada', mimeType: 'text/plain', text: 'Hello, Ada!' }],
  });
});

test.each([
  [undefined, 'Please write a warm, friendly greeting for someone named Ada.'],
  ['formal', 'Please write a formal, professional greeting for someone named Ada.'],
  ['casual', 'Please write a casual, relaxed greeting for someone named Ada.'],
  ['unheard of', 'Please write a warm, friendly greeting for someone named Ada.'],
])('greet_user has the style %s', async (style, text) => {
  const args = style === undefined ? { name: 'Ada' } : { name: 'Ada', style };
  expect(await ask('prompts/get', { name: 'greet_user', arguments: args })).toMatchObject({
    messages: [{ role: 'user', content: { type: 'text', text } }],
  });
});

test('styles have completions', async () => {
  const ref = { type: 'ref/prompt', name: 'greet_user' };
  expect(await ask('completion/complete', { ref, argument: { name: 'style', value: 'f' } })).toMatchObject({
    completion: { values: ['friendly', 'formal'] },
  });
});
