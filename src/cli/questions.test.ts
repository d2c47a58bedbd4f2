import { describe, expect, test } from 'vitest';
import { shortestProcessorTime } from '../../test/support/processor-time.ts';
import type { UrlRequest } from '../client/handlers.ts';
import type { SampleParams } from '../protocol/sampling.ts';
import { fillIn } from './form.ts';
import type { Prompter } from './prompter.ts';
import { answerByHand } from './sample.ts';
import { offerUrl } from './offer-url.ts';

/** A user who types one line after another, and then nothing more. */
class Scripted implements Prompter {
  readonly printed: string[] = [];
  readonly #lines: string[];

  constructor(...lines: string[]) {
    this.#lines = lines;
  }

  print(line: string): void {
    this.printed.push(line);
  }

  async ask(prompt: string, signal: AbortSignal): Promise<string | undefined> {
    signal.throwIfAborted();
    this.printed.push(prompt);
    return this.#lines.shift();
  }

  /** The number of lines that were not read. */
  get left(): number {
    return this.#lines.length;
  }
}

const { signal } = new AbortController();

describe('a form', () => {
  const text = { type: 'string' };
  const form = (properties: Record<string, object>, required: string[] = []) => ({
    message: 'Please tell',
    requestedSchema: { type: 'object', properties, required },
  });
  const fill = (person: Prompter, properties: Record<string, object>, required: string[] = []) =>
    fillIn(person, 'the shop', form(properties, required), signal);

  test('names the server, and asks for one field after the other', async () => {
    const person = new Scripted('Ada', '3', 'y', '');
    const properties = {
      name: { ...text, title: 'Your name', description: 'As on the door', maxLength: 20 },
      floor: { type: 'integer', minimum: -1, maximum: 9, default: 0 },
      bell: { type: 'boolean' },
    };
    expect(await fill(person, properties, ['name'])).toEqual({
      action: 'accept',
      content: { name: 'Ada', floor: 3, bell: true },
    });
    expect(person.printed).toEqual([
      'the shop asks: Please tell',
      '(type !decline to decline, !cancel or Ctrl-D to dismiss the question)',
      '  As on the door',
      '  Your name (text, at most 20 characters): ',
      '  floor (whole number, -1 to 9, optional) [0]: ',
      '  bell (yes or no, optional): ',
      'Send this? [Y/n, e to edit] ',
    ]);
  });

  test('indents further lines of the message', async () => {
    const person = new Scripted('');
    const message = 'Hi.\n\neverwire: done';
    await fillIn(person, 'the shop', { ...form({}), message }, signal);
    expect(person.printed[0]).toBe('the shop asks: Hi.\n    \n    everwire: done');
  });

  test('shows the beginning of a long message', async () => {
    const person = new Scripted('');
    await fillIn(person, 'the shop', { ...form({}), message: '\n'.repeat(1_000_000) }, signal);
    expect(person.printed[0]!.split('\n')).toHaveLength(65_537);
    expect(person.printed[0]).toMatch(/… \(1000000 characters\)$/);
  });

  test('lists 100 choices, and takes the others, too', async () => {
    const person = new Scripted('color 150', '');
    const choices = Array.from({ length: 200 }, (_, index) => `color ${index}`);
    const color = { ...text, enum: [...choices, 'x'.repeat(1000)] };
    expect(await fill(person, { color })).toEqual({ action: 'accept', content: { color: 'color 150' } });
    expect(person.printed.slice(2, -2)).toEqual([
      ...choices.slice(0, 100).map((choice, index) => `  ${index + 1}) ${choice}`),
      '  and 101 more',
    ]);
  });

  test.each<[string, object, string, unknown]>([
    ['a default', { ...text, default: 'x' }, '', 'x'],
    ['a list of defaults', { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, default: ['b'] }, '', ['b']],
    ['nothing for an optional field', text, '', undefined],
    ['the empty text', text, '""', ''],
    ['a number', { type: 'number' }, ' 1.5 ', 1.5],
    ['a choice by its number', { ...text, enum: ['red', 'blue'] }, '2', 'blue'],
    ['a choice by its value', { ...text, enum: ['2', '1'] }, '1', '1'],
    ['a choice by its title', { ...text, oneOf: [{ const: 's', title: 'Small' }] }, 'small', 's'],
    ['a choice with titles of older revisions', { ...text, enum: ['s'], enumNames: ['Small'] }, 'Small', 's'],
    ['several', { type: 'array', items: { type: 'string', enum: ['a', 'b', 'c'] } }, '3, a', ['c', 'a']],
    [
      'several with titles',
      { type: 'array', items: { anyOf: [{ const: '#f', title: 'Red' }, { const: '#0' }] } },
      'red,2',
      ['#f', '#0'],
    ],
    ['a date', { ...text, format: 'date' }, '2028-02-29', '2028-02-29'],
    ['a time', { ...text, format: 'date-time' }, '2026-07-28T12:00:00+02:00', '2026-07-28T12:00:00+02:00'],
  ])('accepts %s', async (_, schema, line, value) => {
    const content = value === undefined ? {} : { field: value };
    expect(await fill(new Scripted(line, 'y'), { field: schema })).toEqual({ action: 'accept', content });
  });

  test.each<[object, string, string, string]>([
    [{ type: 'integer' }, '1.5', '1', 'field: must be integer.'],
    [{ type: 'number', minimum: 18 }, '17', '18', 'field: must be >= 18.'],
    [{ type: 'number' }, 'many', '1', 'field must be a number.'],
    [{ type: 'boolean' }, 'perhaps', 'no', 'field must be yes or no.'],
    [{ ...text, minLength: 3 }, 'ab', 'abc', 'field: must NOT have fewer than 3 characters.'],
    [{ ...text, format: 'email' }, 'ada', 'ada@x.org', 'field must be an email address.'],
    [{ ...text, format: 'uri' }, 'x', 'https://x.org', 'field must be a URI, such as https://example.com.'],
    [{ ...text, format: 'date' }, '2026-02-31', '2026-02-28', 'field must be a date, such as 2026-07-28.'],
    [
      { ...text, format: 'date-time' },
      '2026-07-28',
      '2026-07-28T12:00:00Z',
      'field must be a date and time, such as 2026-07-28T12:00:00Z.',
    ],
    [{ ...text, enum: ['a'] }, '2', '1', 'field: "2" is not one of the choices.'],
    [
      { type: 'array', items: { enum: ['a', 'b'] }, minItems: 2 },
      'a',
      'a,b',
      'field: must NOT have fewer than 2 items.',
    ],
    [text, '', 'x', 'field is required; enter "" for an empty text.'],
  ])('asks again: %j', async (schema, wrong, right, complaint) => {
    const person = new Scripted(wrong, right, 'y');
    expect(await fill(person, { field: schema }, ['field'])).toMatchObject({ action: 'accept' });
    expect(person.printed).toContain(`  ${complaint}`);
    expect(person.left).toBe(0);
  });

  test.each<[string, string[], string]>([
    ['cancelling in the middle', ['Ada', '!decline'], 'decline'],
    ['no at the end', ['Ada', '3', 'no'], 'decline'],
    ['declining in the middle', ['!cancel'], 'cancel'],
    ['the end of the input', ['Ada'], 'cancel'],
    ['the end of the input at the end', ['Ada', '3'], 'cancel'],
  ])('%s sends none of the answers', async (_, lines, action) => {
    expect(await fill(new Scripted(...lines), { name: text, floor: { type: 'integer' } })).toEqual({ action });
  });

  test('can be reviewed and changed before it is sent', async () => {
    const person = new Scripted('Adq', '3', 'y', 'perhaps', 'e', 'Ada', '', '!clear', 'edit', '', '4', '', '');
    const properties = { name: text, floor: { type: 'integer' }, bell: { type: 'boolean' } };
    expect(await fill(person, properties, ['name'])).toEqual({ action: 'accept', content: { name: 'Ada', floor: 4 } });
    expect(person.printed).toEqual(expect.arrayContaining(['Please answer yes, no or edit.', '  name (text) [Adq]: ']));
    expect(person.printed.filter((line) => line.startsWith('  bell'))).toEqual([
      '  bell (yes or no, optional): ',
      '  bell (yes or no, optional) [true]: ',
      '  bell (yes or no, optional): ',
    ]);
    expect(person.left).toBe(0);
  });

  test('without fields is a question for yes or no', async () => {
    expect(await fill(new Scripted('maybe', 'y'), {})).toEqual({ action: 'accept', content: {} });
    expect(await fill(new Scripted('n'), {})).toEqual({ action: 'decline' });
  });

  test('disappears when the server cancels it', async () => {
    const taken = AbortSignal.abort(new Error('taken back'));
    await expect(fillIn(new Scripted('x'), 'shop', form({ field: text }), taken)).rejects.toThrow('taken back');
  });
});

describe('a URL that the server wants to open', () => {
  const request = (url: string): UrlRequest => ({ mode: 'url', message: 'Sign in', url });
  const opened: string[] = [];
  const go = async (person: Prompter, url: string, works = true) => {
    opened.length = 0;
    const open = async (address: URL): Promise<boolean> => {
      opened.push(address.href);
      return works;
    };
    return offerUrl(person, 'the shop', request(url), open, signal);
  };

  test('is shown in full, and opened only if the user agrees', async () => {
    const person = new Scripted('y');
    expect(await go(person, 'https://example.com/sign-in?next=%2F')).toEqual({ action: 'accept' });
    expect(person.printed).toEqual([
      'the shop asks you to open a URL: Sign in',
      '  https://example.com/sign-in?next=%2F',
      '  The host is example.com.',
      'Open it in the browser? [y/N] ',
    ]);
    expect(opened).toEqual(['https://example.com/sign-in?next=%2F']);
  });

  test.each<[string, string[], string]>([
    ['an empty line', [''], 'decline'],
    ['no', ['n'], 'decline'],
    ['the end of the input', [], 'cancel'],
  ])('%s does not open it', async (_, lines, action) => {
    expect(await go(new Scripted(...lines), 'https://example.com/')).toEqual({ action });
    expect(opened).toEqual([]);
  });

  test('is left to the user if there is no browser', async () => {
    const person = new Scripted('y');
    expect(await go(person, 'https://example.com/', false)).toEqual({ action: 'accept' });
    expect(person.printed.at(-1)).toMatch(/Open the URL yourself/);
  });

  test.each([
    ['https://аpple.com/', /can look like other letters/],
    ['https://bank.com@evil.example/', /before the @/],
    ['http://example.com/', /not encrypted/],
  ])('causes a warning if it is %s', async (url, warning) => {
    const person = new Scripted('n');
    await go(person, url);
    expect(person.printed.filter((line) => line.startsWith('  Warning: '))).toEqual([expect.stringMatching(warning)]);
  });

  test.each(['file:///etc/passwd', 'javascript:alert(1)', 'vscode://x'])('is declined if it is %s', async (url) => {
    const person = new Scripted('y');
    expect(await go(person, url)).toEqual({ action: 'decline' });
    expect(opened).toEqual([]);
    expect(person.left).toBe(1);
  });
});

describe('a sampling request', () => {
  test('is shown up to 65,536 characters', async () => {
    const person = new Scripted('n');
    const message = { role: 'user' as const, content: { type: 'text' as const, text: 'Hello' } };
    const long: SampleParams = { messages: Array.from({ length: 20_000 }, () => message), maxTokens: 100 };
    await expect(answerByHand(person, 'the shop', long, signal)).rejects.toThrow('rejected');
    expect(person.printed).toHaveLength(3);
    const lines = person.printed[1]!.split('\n');
    expect(lines).toHaveLength(5043);
    expect(new Set(lines.slice(0, -2))).toEqual(new Set(['  user: Hello']));
    expect(lines.slice(-2)).toEqual(['  user: Hel… (5 characters)', '  …']);
  });

  test.each([
    ['one text', 1, 8_000_000],
    ['one of many texts', 39_000, 400],
  ])('with %s of line breaks is cut before its lines are indented', async (_, count, length) => {
    const person = new Scripted('n');
    const text = '\n'.repeat(length);
    const messages = Array.from({ length: count }, () => ({
      role: 'user' as const,
      content: { type: 'text' as const, text },
    }));
    // All is printed before the first question.
    const used = shortestProcessorTime(() => {
      answerByHand(new Scripted('n'), 'the shop', { messages, maxTokens: 100 }, signal).catch(() => {});
    });
    expect(used).toBeLessThan(250);
    await expect(answerByHand(person, 'the shop', { messages, maxTokens: 100 }, signal)).rejects.toThrow('rejected');
    const lines = person.printed[1]!.split('\n');
    expect(lines.length).toBeLessThanOrEqual(65_537);
    expect(lines.at(-1)).toBe(count === 1 ? '    … (8000000 characters)' : '  …');
  });

  const params: SampleParams = {
    messages: [
      { role: 'user', content: { type: 'text', text: 'Two\nlines \u001b[31m' } },
      { role: 'assistant', content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }] },
    ],
    maxTokens: 100,
    systemPrompt: 'Be brief.',
  };

  test('is shown, and the user types the answer', async () => {
    const person = new Scripted('y', 'One', '', 'two', '.');
    expect(await answerByHand(person, 'the shop', params, signal)).toEqual({
      role: 'assistant',
      content: { type: 'text', text: 'One\n\ntwo' },
      model: 'a person',
      stopReason: 'endTurn',
    });
    expect(person.printed.slice(0, 2)).toEqual([
      "the shop asks for a model's answer (at most 100 tokens):",
      '  system: Be brief.\n  user: Two\n    lines \u001b[31m\n  assistant: [image/png, 3 bytes]',
    ]);
  });

  test.each([[['']], [['n']], [[]], [['y', 'begun']]])('is refused by %j', async (lines) => {
    await expect(answerByHand(new Scripted(...lines), 'the shop', params, signal)).rejects.toThrow(
      expect.objectContaining({ code: -1, message: 'User rejected sampling request' }),
    );
  });
});
