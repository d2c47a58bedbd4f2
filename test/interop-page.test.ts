import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { languages } from './languages/languages.ts';
import { findingsTable, matrixTable, tasksSentence } from './languages/table.ts';
import { untestedSentence } from './languages/untested.ts';

const page = new URL('../docs/interop.md', import.meta.url);

/** `EVERWIRE_UPDATE=1` writes the tables instead of comparing them. */
test.each([
  ['matrix', matrixTable(languages)],
  ['findings', findingsTable(languages)],
  ['tasks', tasksSentence(languages)],
  ['untested', untestedSentence()],
])('docs/interop.md has the %s of the languages', (name, table) => {
  const text = readFileSync(page, 'utf8');
  const [head, foot] = [`<!-- ${name} -->\n\n`, `\n\n<!-- end of ${name} -->`];
  const from = text.indexOf(head) + head.length;
  const to = text.indexOf(foot);
  expect([from > head.length, to > from]).toEqual([true, true]);
  if (process.env['EVERWIRE_UPDATE']) return writeFileSync(page, text.slice(0, from) + table + text.slice(to));
  expect(text.slice(from, to)).toBe(table);
});
