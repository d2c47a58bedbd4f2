import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import type { Client } from '../client/client.ts';
import { complete } from './complete.ts';
import { Output } from './output.ts';
import { prompt } from './prompt.ts';
import type { Work } from './with-client.ts';

/** What a command prints. */
async function printed(work: Work, client: object): Promise<string> {
  const stdout = new PassThrough();
  const { signal } = new AbortController();
  const connected = { client: client as Client, output: new Output({}, stdout), signal };
  await work(connected as Parameters<Work>[0]);
  return String(stdout.read());
}

test('complete prints one line for each value', async () => {
  const values = ['one', 'two\nthree', 'four\r\n\u2028\u001b[31m', '', 'tab\t'];
  const client = { complete: () => Promise.resolve({ values }) };
  expect((await printed(complete(['p', 'a=']), client)).split('\n')).toEqual([
    'one',
    'two\\nthree',
    'four\\n\\u2028\\u001b[31m',
    '',
    'tab\\t',
    '',
  ]);
});

test('prompt prints one line for each role', async () => {
  const messages = [{ role: 'user:\nfake', content: { type: 'text', text: 'two\nlines' } }];
  const client = {
    listPrompts: () => Promise.resolve([{ name: 'p' }]),
    getPrompt: () => Promise.resolve({ messages }),
  };
  expect(await printed(prompt(['p']), client)).toBe('user:\\nfake:\ntwo\nlines\n');
});
