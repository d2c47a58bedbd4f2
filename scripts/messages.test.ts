import { describe, expect, test } from 'vitest';
import { compare, HOLE, messagesOn, textsOf } from './messages.ts';

const messages = (source: string): string[] =>
  textsOf(source, 'a.ts')
    .filter(({ isMessage }) => isMessage)
    .map(({ text }) => text.replaceAll(HOLE, '<>'));

const problems = (source: string, page: string, exemptions: Parameters<typeof compare>[2] = []): string[] =>
  compare(textsOf(source, 'a.ts'), messagesOn(page), exemptions);

describe('messages in a source', () => {
  test('are strings and templates of two words, wherever they are', () => {
    expect(
      messages(`
        const why = gone ? 'is gone' : 'is late';
        throw new OAuthError('token', \`The \${kind} server \${why}\`);
        refuse('must be\\n  a file <name>');
      `),
    ).toEqual(['is gone', 'is late', 'The <> server <>', 'must be a file <>']);
  });

  test('are neither types, imports, comparisons, single words nor help', () => {
    expect(
      messages(`
        import x from 'some module name';
        type A = 'one type' | 'another type';
        if (body === 'too large') throw new Error('closed');
        command.option('--all', 'list all of them').usage('[options] target');
        const EXAMPLES = 'Two examples';
        throw Failure.usage('a target is missing' as string);
      `),
    ).toEqual(['a target is missing']);
  });
});

test('messages on a page are code in headings and after "Also:"', () => {
  expect(
    messagesOn('### `a <b>`\n\nAlso: `c`, ``d `e` ``\n\nText with `code`.\n\n### No code').map(({ line, text }) => [
      line,
      text.replaceAll(HOLE, '<>'),
    ]),
  ).toEqual([
    [1, 'a <>'],
    [3, 'c'],
    [3, 'd `e`'],
  ]);
});

describe('the page', () => {
  const source = "throw new Error(`Cannot start ${command}: ${gone ? 'it is gone' : why}`);";

  test('agrees with a source if each message has an entry, also one made of several texts', () => {
    expect(problems(source, '### `Cannot start <command>: it is gone`')).toEqual([]);
    expect(problems(source, '### `Cannot start <command>: <why>`\n\nAlso: `it is gone`')).toEqual([]);
  });

  test('lacks an entry for a message: the problem says what to add', () => {
    expect(problems(source, '### `it is gone`')).toEqual([
      'src/a.ts:1: docs/errors.md has no entry for this message. Add one: ### `Cannot start <…>: <…>`, with what it means and ' +
        'what to do. If no user sees it, add it to scripts/message-exemptions.ts, with the reason.',
    ]);
  });

  test('does not lack an entry for an exempted text, and an exemption of nothing is a problem', () => {
    const because = 'a test';
    expect(problems(source, '', [{ file: 'a.ts', because }])).toEqual([]);
    expect(
      problems(source, '### `it is gone`', [{ file: 'a.ts', texts: ['Cannot start <>: <>', 'other'], because }]),
    ).toEqual(['scripts/message-exemptions.ts: no text of src is a.ts: other. Remove it.']);
  });

  test('has an entry for no message, or one with other words', () => {
    const page = '### `Cannot start <command>: it is gone`\n\n### `Another message`\n\nAlso: `now it is gone`';
    expect(problems(source, page)).toEqual([
      'docs/errors.md:3: no message of src is `Another message`. Remove it.',
      'docs/errors.md:5: now in `now it is gone` is in no message of a.ts. Correct it, or write a placeholder: <name>.',
    ]);
  });

  test('must have the beginning of a sentence where the source has one, and whole words', () => {
    expect(problems("fail('Closed now')", '### `The peer is Closed now`')).toHaveLength(2);
    expect(problems("fail('Closed now')", '### `Cannot connect: Closed now`')).toHaveLength(1);
    expect(problems("fail('is not')", '### `this nothing`')).toHaveLength(2);
  });
});
