import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { filesShownIn } from './support/shown.ts';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const { repository, scripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

describe('the README', () => {
  const files = filesShownIn('README.md');

  test('shows the files of its examples', () => {
    const shown = ['examples/guide/first.ts', 'examples/client/first.ts'];
    expect(files.map(({ file }) => file)).toEqual(shown);
  });

  test.each(files)('shows $file unchanged', ({ shown, actual }) => {
    expect(shown).toBe(actual);
  });

  test('says on its first screen how to begin, as a user and in a clone', () => {
    const screen = readme.split('\n').slice(0, 48).join('\n');
    for (const command of ['npm install everwire', 'npx everwire demo', 'npm ci && npm start', 'npm ci && npm test'])
      expect(screen).toContain(command);
  });

  // The site of npm makes relative links absolute only for a repository at GitHub.
  test('has links that work on the site of npm', () => {
    expect(repository.url).toMatch(/^git\+https:\/\/github\.com\/[\w-]+\/[\w-]+\.git$/);
  });

  test('names commands that exist', () => {
    const named = [...readme.matchAll(/npm (?:run )?(start|test|bench)\b/g)].map(([, name]) => name!);
    expect(named.length).toBeGreaterThan(2);
    for (const name of named) expect(scripts).toHaveProperty(name);
  });
});
