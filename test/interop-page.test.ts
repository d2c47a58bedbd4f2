import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { languages } from './languages/languages.ts';
import { findingsTable, matrixTable, summaryTable, tasksSentence } from './languages/table.ts';
import { untestedSentence } from './languages/untested.ts';

const pages = { readme: '../README.md', interop: '../docs/interop.md' };

/** `EVERWIRE_UPDATE=1` writes the tables instead of comparing them. */
test.each([
  ['interop', 'matrix', matrixTable(languages)],
  ['interop', 'findings', findingsTable(languages)],
  ['interop', 'tasks', tasksSentence(languages)],
  ['interop', 'untested', untestedSentence()],
  ['readme', 'languages', summaryTable(languages)],
] as const)('in %s, the docs have the %s of the languages', (file, name, table) => {
  const page = new URL(pages[file], import.meta.url);
  const text = readFileSync(page, 'utf8');
  const [head, foot] = [`<!-- ${name} -->\n\n`, `\n\n<!-- end of ${name} -->`];
  const from = text.indexOf(head) + head.length;
  const to = text.indexOf(foot);
  expect([from > head.length, to > from]).toEqual([true, true]);
  if (process.env['EVERWIRE_UPDATE']) return writeFileSync(page, text.slice(0, from) + table + text.slice(to));
  expect(text.slice(from, to)).toBe(table);
});
