import { describe, expect, test, vi } from 'vitest';
import { checkArguments, toolArguments, wanted } from './tool-arguments.ts';

/** For a schema that can be used. */
const unexpected = (message: string): never => {
  throw new Error(message);
};

const tool = {
  name: 'search',
  inputSchema: {
    type: 'object',
    properties: {
      text: { type: 'string' },
      limit: { type: 'integer', minimum: 1 },
      ratio: { type: 'number' },
      exact: { type: 'boolean' },
      tags: { type: 'array', items: { type: 'string' } },
      sizes: { type: 'array', items: { type: 'integer' } },
      order: { enum: ['up', 'down'] },
      level: { enum: [1, 2, 3] },
      maybe: { type: ['integer', 'null'] },
      either: { anyOf: [{ type: 'boolean' }, { type: 'string' }] },
      within: { $ref: '#/$defs/area' },
      labels: { type: 'object', additionalProperties: { type: 'number' } },
      'dotted.name': { type: 'integer' },
      anything: {},
    },
    required: ['text'],
    $defs: {
      area: {
        type: 'object',
        properties: { north: { type: 'number' }, place: { type: 'object', properties: { zip: { type: 'string' } } } },
      },
    },
  },
};

const read = (...words: string[]): unknown => toolArguments(tool, words);

describe('words are converted by the schema', () => {
  test.each<[string[], unknown]>([
    [['text=12'], { text: '12' }],
    [['text='], { text: '' }],
    [['text=a=b:=c'], { text: 'a=b:=c' }],
    [['text=two\nlines'], { text: 'two\nlines' }],
    [['limit=12'], { limit: 12 }],
    [['limit=-1'], { limit: -1 }],
    [['ratio=.5'], { ratio: 0.5 }],
    [['ratio=1e3'], { ratio: 1000 }],
    [['exact=false'], { exact: false }],
    [['tags=a'], { tags: ['a'] }],
    [['tags=a', 'text=x', 'tags=b'], { tags: ['a', 'b'], text: 'x' }],
    [['sizes=1', 'sizes=2'], { sizes: [1, 2] }],
    [['order=up'], { order: 'up' }],
    [['level=2'], { level: 2 }],
    [['maybe=null'], { maybe: null }],
    [['maybe=7'], { maybe: 7 }],
    [['either=true'], { either: true }],
    [['either=yes'], { either: 'yes' }],
    [['within.north=1.5', 'within.place.zip=01'], { within: { north: 1.5, place: { zip: '01' } } }],
    [['labels.x=1'], { labels: { x: 1 } }],
    [['dotted.name=1'], { 'dotted.name': 1 }],
    [['anything=1'], { anything: '1' }],
    [['anything.deep=1'], { anything: { deep: '1' } }],
    [['limit:=1.5'], { limit: 1.5 }],
    [['tags:=["a"]'], { tags: ['a'] }],
    [['within:={"north":1}', 'within.place.zip=2'], { within: { north: 1, place: { zip: '2' } } }],
  ])('%j', (words, expected) => {
    expect(read(...words)).toEqual(expected);
  });

  test('in addition to arguments given as JSON', () => {
    const base = { text: 'a', tags: ['old'], within: { north: 1 } };
    expect(toolArguments(tool, ['text=b', 'tags=new', 'within.place.zip=3'], base)).toEqual({
      text: 'b',
      tags: ['new'],
      within: { north: 1, place: { zip: '3' } },
    });
    expect(base).toEqual({ text: 'a', tags: ['old'], within: { north: 1 } });
  });

  test('a key cannot reach inherited properties', () => {
    const open = { name: 'any', inputSchema: { type: 'object' } };
    const args = toolArguments(open, ['__proto__.polluted=yes', 'constructor=x']);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(Object.keys(args)).toEqual(['__proto__', 'constructor']);
  });
});

describe('an invalid argument is reported before anything is sent', () => {
  test.each([
    ['text', /"text" is not an argument: it must be key=value or key:=json\. search takes text \(string, required\)/],
    ['=x', /"=x" is not an argument/],
    ['limt=3', /^search has no argument "limt" \(did you mean "limit"\?\)\. search takes .*limit \(integer\)/],
    ['within.nort=3', /^within of search has no argument "nort" \(did you mean "north"\?\)/],
    ['limit=many', /^the argument limit of search must be an integer, not "many"$/],
    ['limit=1.5', /^the argument limit of search must be an integer, not "1.5"$/],
    ['limit=99999999999999999999', /must be an integer/],
    ['ratio=', /^the argument ratio of search must be a number, not ""$/],
    ['exact=yes', /^the argument exact of search must be a boolean, not "yes"$/],
    ['sizes=a', /^the argument sizes of search must be an integer, not "a"$/],
    ['order=dwn', /^the argument order of search must be one of "up" | "down", not "dwn"$/],
    ['within=north', /^the argument within of search must be an object, not "north"; write within:=json for it$/],
    ['limit:=one', /^the argument limit is not JSON: /],
  ])('%s', (word, message) => {
    expect(() => read(word)).toThrow(expect.objectContaining({ exitCode: 2, message: expect.stringMatching(message) }));
  });

  test.each([[['limit=1', 'limit=2']], [['tags=a', 'tags:=["b"]']], [['maybe=null', 'maybe=1']]])(
    'an argument that is given twice: %j',
    (words) => {
      expect(() => read(...words)).toThrow(/is given twice$/);
    },
  );

  test('an argument inside a value that was already given', () => {
    expect(() => read('anything=x', 'anything.deep=1')).toThrow(/anything already has a value$/);
  });

  test.each([
    [{}, /^Invalid arguments for tool search: text: is missing\. search takes text \(string, required\)/],
    [{ text: 'x', limit: 0 }, /^Invalid arguments for tool search: limit: must be >= 1\./],
    [{ text: 'x', within: { north: 'up' } }, /^Invalid arguments for tool search: within\.north: must be number\./],
  ])('%j', async (args, message) => {
    await expect(checkArguments(tool, args, unexpected)).rejects.toThrow(
      expect.objectContaining({ exitCode: 2, message: expect.stringMatching(message) }),
    );
  });

  test('never a valid one', async () => {
    await expect(checkArguments(tool, { text: 'x', limit: 1, tags: [] }, unexpected)).resolves.toBeUndefined();
  });

  test('unless the schema of the tool cannot be understood', async () => {
    const odd = { name: 'odd', inputSchema: { $schema: 'http://json-schema.org/draft-04/schema#', type: 'object' } };
    const warn = vi.fn<(message: string) => void>();
    await checkArguments(odd, { a: 1 }, warn);
    expect(warn).toHaveBeenCalledExactlyOnceWith(
      expect.stringMatching(/^the arguments are not checked before the call: The input schema of odd .*draft-04/),
    );
  });
});

test('a schema that refers to itself is described to a limited depth', () => {
  const node = { type: 'object', properties: { next: { $ref: '#/$defs/node' }, name: { type: 'string' } } };
  const endless = { $ref: '#/$defs/endless' };
  const inputSchema = {
    type: 'object',
    properties: { node: { $ref: '#/$defs/node' }, endless },
    $defs: { node, endless },
  };
  const list = { name: 'list', inputSchema };
  expect(toolArguments(list, ['node.next.next.name=x', 'endless=1'])).toEqual({
    node: { next: { next: { name: 'x' } } },
    endless: '1',
  });
});

test('a server’s slow pattern is checked in bounded time', async () => {
  const text = { type: 'string', pattern: '^(.|.|.)*\\u0001$' };
  const slow = { name: 'slow', inputSchema: { type: 'object', properties: { text } } };
  await expect(checkArguments(slow, { text: `${'x'.repeat(40)}\u0001` }, unexpected)).resolves.toBeUndefined();
  await expect(checkArguments(slow, { text: 'x'.repeat(40) }, unexpected)).rejects.toThrow('must match pattern');
});

test('lists inside lists are described to a limited depth', () => {
  const tree = { type: 'array', items: { $ref: '#/$defs/tree' } };
  const inputSchema = { type: 'object', properties: { tree: { $ref: '#/$defs/tree' } }, $defs: { tree } };
  expect(wanted({ name: 'plant', inputSchema })).toBe('plant takes tree (any[][][][][])');
});

test.each([
  [{ type: 'object' }, 'bare takes no arguments'],
  [{ type: 'object', additionalProperties: true }, 'bare takes any arguments'],
  [{ type: 'object', properties: { a: { type: 'string' } } }, 'bare takes a (string)'],
  [
    {
      type: 'object',
      properties: { a: { type: 'array', items: { enum: ['x', 'y'] } }, b: {} },
      required: ['b'],
    },
    'bare takes a (("x" | "y")[]) and b (any, required)',
  ],
])('the arguments of a tool are described: %j', (inputSchema, description) => {
  expect(wanted({ name: 'bare', inputSchema })).toBe(description);
});

test.each(['tags=["a","b"]', 'sizes=[1]'])('a list is not written as JSON behind =: %s', (word) => {
  const [key, json] = word.split('=');
  expect(() => toolArguments(tool, [word])).toThrow(
    `the argument ${key} of search is a list: write ${key}:=${json}, or ${key}=value for each item`,
  );
  expect(toolArguments(tool, [word.replace('=', ':=')])[key!]).toEqual(JSON.parse(json!));
});

test('an item of a list may begin with a bracket', () => {
  expect(toolArguments(tool, ['tags=[x'])).toEqual({ tags: ['[x'] });
});
