import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { getStaticTOMLValue, parseTOML } from 'toml-eslint-parser';
import { ConfigJson } from '../../bridge/config/json.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { openJson } from './json-text.ts';
import { FormatError, type ServerText } from './server-text.ts';
import { openToml } from './toml-text.ts';

const entry = { command: 'npx', args: ['-y', 'x'], env: { KEY: 'a"b\\c\n' } };

/** A text with the marks `«` and `»` around what is new, without these marks. */
const unmarked = (text: string): string => text.replaceAll(/[«»]/g, '');
/** The same text without what is new. */
const original = (text: string): string => text.replaceAll(/«[^»]*»/g, '');

/** Checks that exactly the marked parts are inserted, and that they are removed again. */
function expectInserted(open: (text: string) => ServerText, marked: string, added: JsonObject): void {
  const text = open(original(marked)).with('new', added);
  expect(text).toBe(unmarked(marked));
  expect(open(text).without('new')).toBe(original(marked));
}

const json = (text: string): ServerText => openJson(text, 'mcpServers');
const toml = (text: string): ServerText => openToml(text, 'mcp_servers');

describe('JSON', () => {
  const url = { url: 'https://example.com/mcp' };

  test.each([
    [
      'over several lines',
      '{\n  "mcpServers": {\n    "old": { "command": "x" }«,\n    "new": {\n      "url": "https://example.com/mcp"\n    }»\n  },\n  "other": 1\n}\n',
    ],
    [
      'with tabs and CRLF',
      '{\r\n\t"mcpServers": {\r\n\t\t"old": {}«,\r\n\t\t"new": {\r\n\t\t\t"url": "https://example.com/mcp"\r\n\t\t}»\r\n\t}\r\n}',
    ],
    [
      'with trailing commas and comments',
      '// top\n{\n    "mcpServers": {\n        "old": {}, // mine\n        /* more\n           later */«\n        "new": {\n            "url": "https://example.com/mcp"\n        },»\n    }, // end\n}\n',
    ],
    [
      'with a comment after the last server',
      '{\n  "mcpServers": {\n    "old": {}«,» // mine«\n    "new": {\n      "url": "https://example.com/mcp"\n    }»\n  }\n}\n',
    ],
    ['in one line', '{"mcpServers":{"old":{}«,"new":{"url":"https://example.com/mcp"}»},"other":[1, 2]}'],
    [
      'in one line with spaces',
      '{ "mcpServers": { "old": {}«, "new": {"url":"https://example.com/mcp"}» }, "other": 1 }',
    ],
    [
      'with an object that begins in the line of its key',
      '{\n  "a": 1, "mcpServers": { "old": {\n  }«,\n    "new": {\n      "url": "https://example.com/mcp"\n    }\n  »}\n}',
    ],
  ])('%s keeps everything else', (_, marked) => {
    const text = json(original(marked)).with('new', url);
    expect(text).toBe(unmarked(marked));
    expect(json(json(text).without('new')).servers).toEqual(json(original(marked)).servers);
  });

  test('is as before when the new server is removed', () => {
    expectInserted(
      json,
      '{\n  "mcpServers": {\n    // first\n    "old": { "command": "x" }«,\n    "new": {\n      "url": "https://example.com/mcp"\n    }»\n  }\n}\n',
      url,
    );
  });

  test('gets the key of the servers if it is missing', () => {
    expect(json('{\n  // mine\n  "theme": "dark"\n}\n').with('new', url)).toBe(
      '{\n  // mine\n  "theme": "dark",\n  "mcpServers": {\n    "new": {\n      "url": "https://example.com/mcp"\n    }\n  }\n}\n',
    );
    expect(json('{}').with('new', url)).toBe(
      '{\n  "mcpServers": {\n    "new": {\n      "url": "https://example.com/mcp"\n    }\n  }\n}',
    );
    expect(json('{ // none\n}').with('new', url)).toBe(
      '{ // none\n  "mcpServers": {\n    "new": {\n      "url": "https://example.com/mcp"\n    }\n  }\n}',
    );
    expect(json('{\n\t"mcpServers": {}\n}').with('new', url)).toBe(
      '{\n\t"mcpServers": {\n\t\t"new": {\n\t\t\t"url": "https://example.com/mcp"\n\t\t}\n\t}\n}',
    );
  });

  test.each(['', ' \n'])('is new if the text is %j', (text) => {
    expect(json(text).with('new', url)).toBe(
      '{\n  "mcpServers": {\n    "new": {\n      "url": "https://example.com/mcp"\n    }\n  }\n}\n',
    );
  });

  test('has only the value of a replaced server changed', () => {
    const text = '{\n  "mcpServers": { // all\n    "new": { "command": "old" }, // mine\n    "b": {}\n  }\n}\n';
    expect(json(text).with('new', url)).toBe(
      '{\n  "mcpServers": { // all\n    "new": {\n      "url": "https://example.com/mcp"\n    }, // mine\n    "b": {}\n  }\n}\n',
    );
  });

  test.each([
    ['{"mcpServers":{"a":{},"new":{},"b":{}}}', '{"mcpServers":{"a":{},"b":{}}}'],
    ['{"mcpServers":{"new":{}, "b":{}}}', '{"mcpServers":{"b":{}}}'],
    ['{ "mcpServers": { "a": {}, "new": {} } }', '{ "mcpServers": { "a": {} } }'],
    ['{ "mcpServers": { "new": {}, } }', '{ "mcpServers": { } }'],
    ['{\n "mcpServers": {\n  "a": {}, // a\n  "new": {\n  }\n }\n}', '{\n "mcpServers": {\n  "a": {} // a\n }\n}'],
    ['{\n "mcpServers": {\n  "a": {},\n  "new": {},\n },\n}', '{\n "mcpServers": {\n  "a": {},\n },\n}'],
    ['{\n "mcpServers": {\n  "new": {},\n  "new": {},\n  "a": {}\n }\n}', '{\n "mcpServers": {\n  "a": {}\n }\n}'],
    ['{\n "mcpServers": {\n  "new": {}, "a": {}\n }\n}', '{\n "mcpServers": {\n  "a": {}\n }\n}'],
  ])('%j without a server is %j', (text, expected) => {
    expect(json(text).without('new')).toBe(expected);
  });

  test.each([
    ['{\n  "token": hunter2 }', 'line 2, column 12: this is not valid JSON'],
    ['[]', 'line 1, column 1: this is not an object'],
    ['{\n  "mcpServers": []\n}', 'line 2, column 3: mcpServers is not an object'],
  ])('%j is refused with its position', (text, message) => {
    expect(() => json(text)).toThrow(new FormatError(message));
  });

  /** Objects in the layouts that people and programs write. */
  const layout = fc.record({
    unit: fc.constantFrom('  ', '    ', '\t', ''),
    lineEnd: fc.constantFrom('\n', '\r\n'),
    comment: fc.constantFrom('', ' // note', ' /* note */'),
    trailing: fc.boolean(),
  });
  const name = fc.constantFrom('a', 'b', 'new', '__proto__', 'x y', 'ü');

  test('in any layout, gets and loses a server, and nothing else changes', () => {
    fc.assert(
      fc.property(layout, fc.uniqueArray(name, { maxLength: 4 }), fc.json(), (style, names, other) => {
        const { unit, lineEnd, comment, trailing } = style;
        const line = unit === '' ? '' : lineEnd;
        const note = line === '' && comment.includes('//') ? '' : comment;
        const members = names.map(
          (each, at) =>
            `${line}${unit}${unit}${JSON.stringify(each)}: {"n":${at}}${at < names.length - 1 || trailing ? ',' : ''}${note}`,
        );
        const before = `{${line}${unit}"first": ${other},${line}${unit}"mcpServers": {`;
        const text = `${before}${members.join('')}${line}${unit}}${line}}`;
        const old = new ConfigJson(text).value as { mcpServers: JsonObject };

        const added = json(text).with('new', entry);
        expect(new ConfigJson(added).value).toEqual({ ...old, mcpServers: { ...old.mcpServers, new: entry } });
        expect(isSubsequence(names.includes('new') ? before : text, added)).toBe(true);
        expect(added.startsWith(before)).toBe(true);
        const mixed = lineEnd === '\r\n' && line !== '' && /[^\r]\n/.test(added);
        expect(mixed).toBe(false);

        const removed = json(added).without('new');
        const { new: _, ...others } = old.mcpServers;
        expect(new ConfigJson(removed).value).toEqual({ ...old, mcpServers: others });
        expect(isSubsequence(removed, added)).toBe(true);
        const reversible = names.length > 0 && !names.includes('new') && line !== '';
        expect(removed).toBe(reversible ? text : removed);
      }),
    );
  });
});

/** Whether one text can be made from the other by inserting characters only. */
function isSubsequence(part: string, whole: string): boolean {
  let at = 0;
  for (const character of whole) if (part.startsWith(character, at)) at += character.length;
  return at === part.length;
}

test('a line with very many spaces does not take long', () => {
  const spaces = ' '.repeat(300_000);
  const text = `{"mcpServers": {${spaces}"old": {},${spaces}"new": {}}}`;
  const begun = performance.now();
  expect(json(text).without('new')).toBe(`{"mcpServers": {${spaces}"old": {}}}`);
  expect(performance.now() - begun).toBeLessThan(2000);
});

describe('TOML', () => {
  const url = { url: 'https://example.com/mcp', http_headers: { 'X-Key': 'a b' } };

  test.each([
    [
      'with other tables',
      '# top\nmodel = "x"\n\n[mcp_servers.old] # mine\ncommand = "y"\n«\n[mcp_servers.new]\nurl = "https://example.com/mcp"\nhttp_headers = { X-Key = "a b" }\n»',
    ],
    [
      'with CRLF',
      'model = "x"\r\n«\r\n[mcp_servers.new]\r\nurl = "https://example.com/mcp"\r\nhttp_headers = { X-Key = "a b" }\r\n»',
    ],
    ['that is empty', '«[mcp_servers.new]\nurl = "https://example.com/mcp"\nhttp_headers = { X-Key = "a b" }\n»'],
    [
      'with a parent table',
      '[mcp_servers]\n\n[mcp_servers.old]\ncommand = "y"\n«\n[mcp_servers.new]\nurl = "https://example.com/mcp"\nhttp_headers = { X-Key = "a b" }\n»',
    ],
  ])('%s keeps everything else, and is as before when the server is removed', (_, marked) => {
    expectInserted(toml, marked, url);
  });

  test.each([
    ['[mcp_servers.new]\nx = "1"\n\n[other]\ny = 1\n', '[other]\ny = 1\n'],
    [
      'a = 1\n\n[mcp_servers.new] # h\n# inside\nx = [\n  "1", # one\n] # tail\n\n[mcp_servers.new.env]\nK = "v"\n\n# of the next\n[other]\n',
      'a = 1\n\n# of the next\n[other]\n',
    ],
    ['[mcp_servers]\nnew.command = "x" # mine\nold.command = "y"\n', '[mcp_servers]\nold.command = "y"\n'],
    ['[mcp_servers]\nnew = { command = "x" }\nold = { command = "y" }\n', '[mcp_servers]\nold = { command = "y" }\n'],
    ['mcp_servers.new.command = "x"\nb = 1', 'b = 1'],
  ])('%j without a server is %j', (text, expected) => {
    expect(toml(text).without('new')).toBe(expected);
  });

  test('has a replaced server at the end', () => {
    const text = '[mcp_servers.new]\nurl = "x"\n\n[mcp_servers.new.http_headers]\nA = "b"\n\n[other]\ny = 1\n';
    expect(toml(text).with('new', { url: 'z' })).toBe('[other]\ny = 1\n\n[mcp_servers.new]\nurl = "z"\n');
  });

  test.each([
    ['a = 1\nb = hunter2', 'line 2, column 5: this is not valid TOML'],
    ['[a]\nx = 1\n[a]\nx = 2', 'line 3, column 2: this is not valid TOML'],
    ['mcp_servers = 1', 'mcp_servers is not a table'],
  ])('%j is refused with its position', (text, message) => {
    expect(() => toml(text)).toThrow(new FormatError(message));
  });

  test('with an inline table of servers is refused', () => {
    const text = toml('mcp_servers = { old = { command = "x" } }');
    const message = 'mcp_servers is not written as tables such as [mcp_servers.name]: change it by hand';
    expect(() => text.with('new', url)).toThrow(new FormatError(message));
    expect(() => text.without('old')).toThrow(new FormatError(message));
  });

  test('can contain any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }), (key, value) => {
        // The parser makes it the prototype, and the check then refuses the change.
        fc.pre(key !== '__proto__' && !/\p{Surrogate}/u.test(value));
        const added = { command: value, args: [key, value], env: { [key]: value } };
        const text = toml('a = 1\n').with('new', added);
        expect(getStaticTOMLValue(parseTOML(text))).toEqual({ a: 1, mcp_servers: { new: added } });
        expect(toml(text).without('new')).toBe('a = 1\n');
      }),
    );
  });
});
