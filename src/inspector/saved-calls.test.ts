import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { root } from '../../test/support/process.ts';
import type { SaveCommand, SavedRule } from '../inspect/page-server/saved-api.ts';
import { SavedCalls } from './saved-calls.ts';

const posix = process.platform !== 'win32';
let folder: string;
let file: string;
let saved: SavedCalls;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'everwire-saved-'));
  file = path.join(folder, '.everwire', 'saved.json');
  saved = new SavedCalls({ file, secrets: ['configured-secret'] });
});

afterEach(() => rmSync(folder, { recursive: true }));

const call = (name: string, args: object = {}): SaveCommand => ({
  name,
  method: 'tools/call',
  params: JSON.stringify({ name: 'add', arguments: args }),
});
const written = (): string => readFileSync(file, 'utf8');
const write = (text: string): void => {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
};

test('a call is saved for its server, in a file that is readable and has one order', async () => {
  expect(await saved.list('demo')).toEqual([]);
  expect(existsSync(path.dirname(file))).toBe(false);
  await saved.save('demo', call('  Two  ', { b: 2, a: 1 }), []);
  await saved.save('another', { name: 'Prompt', method: 'prompts/get', params: '{"name":"p"}' }, []);
  await saved.save('demo', call('One'), []);
  expect(written()).toBe(`{
  "version": 1,
  "servers": {
    "another": [
      {
        "name": "Prompt",
        "method": "prompts/get",
        "params": {
          "name": "p"
        }
      }
    ],
    "demo": [
      {
        "name": "One",
        "method": "tools/call",
        "params": {
          "name": "add",
          "arguments": {}
        }
      },
      {
        "name": "Two",
        "method": "tools/call",
        "params": {
          "name": "add",
          "arguments": {
            "b": 2,
            "a": 1
          }
        }
      }
    ]
  }
}
`);
  expect((await new SavedCalls({ file }).list('demo')).map(({ name }) => name)).toEqual(['One', 'Two']);
});

test.runIf(posix)('a new file is for its owner alone', async () => {
  await saved.save('demo', call('One'), []);
  expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
});

test('the guide shows a file as it is written', async () => {
  const guide = readFileSync(`${root}docs/inspector.md`, 'utf8');
  const [, example] = /### Saved calls and rules\n[^]*?```json\n([^]*?)```/.exec(guide)!;
  await saved.save('mine', { ...call('Add two numbers', { a: 1, b: 2 }) }, []);
  expect(written()).toBe(example);
});

test('calls are replaced only if the user wants it, and removed', async () => {
  await saved.save('demo', call('One', { a: 1 }), []);
  await expect(saved.save('demo', call('One', { a: 2 }), [])).rejects.toThrow('There is already a saved call "One".');
  await saved.save('demo', { ...call('One', { a: 3 }), replace: true }, []);
  expect(await saved.list('demo')).toMatchObject([{ name: 'One', params: { arguments: { a: 3 } } }]);
  await saved.remove('demo', 'none');
  await saved.remove('demo', 'One');
  expect(written()).toBe('{\n  "version": 1,\n  "servers": {}\n}\n');
});

test('changes at the same time all reach the file, also those of an editor in between', async () => {
  await Promise.all(['a', 'b', 'c'].map((name) => saved.save('demo', call(name), [])));
  const other = new SavedCalls({ file });
  await other.save('demo', call('other'), []);
  await saved.save('demo', call('d'), []);
  expect((await saved.list('demo')).map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd', 'other']);
});

test.each([
  ['of the configuration', []],
  ['of a header', ['configured-secret', 'typed-secret']],
])('a call with a secret %s is not saved', async (_, headers) => {
  const secret = headers.at(-1) ?? 'configured-secret';
  const refused = saved.save('demo', call('One', { key: `x ${secret}` }), headers);
  await expect(refused).rejects.toThrow('The call contains a secret, so it is not saved.');
  expect(existsSync(file)).toBe(false);
});

test.each(['basic research methods', 'bearer instruments', 'ssh://git@git.example/notes.git'])(
  'a call with an ordinary text is saved: %s',
  async (query) => {
    await saved.save('demo', call('One', { query }), ['configured-secret']);
    expect(written()).toContain(JSON.stringify(query));
  },
);

test('names that JavaScript objects have are names like others', async () => {
  for (const name of ['__proto__', 'constructor']) await saved.save(name, call(name), []);
  expect(await saved.list('__proto__')).toMatchObject([{ name: '__proto__' }]);
  expect(await saved.list('toString')).toEqual([]);
});

describe('a file that cannot be used is never changed, and the error says why:', () => {
  const one = '{"name":"n","method":"tools/call","params":{}}';
  const withCalls = (calls: string): string => `{"version":1,"servers":{"demo":${calls}}}`;
  test.each([
    ['not JSON', '{', /it is not JSON: /],
    ['an array', '[]', /it must be an object$/],
    ['another version', '{"version":2,"servers":{}}', /its version is not 1$/],
    ['an unknown member', '{"version":1,"servers":{},"headers":{}}', /it has an unknown member "headers"$/],
    ['no servers', '{"version":1}', /"servers" must be an object$/],
    ['no list', withCalls('{}'), /"demo" must be an array of calls$/],
    ['no call', withCalls('[1]'), /call 1 of "demo" must be an object$/],
    [
      'headers',
      withCalls(`[${one.replace('}}', '},"headers":{}}')}]`),
      /call 1 of "demo" has an unknown member "headers"$/,
    ],
    [
      'no name',
      withCalls(`[${one.replace('"n"', '""')}]`),
      /the name of call 1 of "demo" must be one line of 1 to 100/,
    ],
    ['lines', withCalls(`[${one.replace('"n"', '"a\\nb"')}]`), /the name of call 1 of "demo" must be one line/],
    ['directions', withCalls(`[${one.replace('"n"', '"a\u202eb"')}]`), /the name of call 1 of "demo" must be one line/],
    ['a method', withCalls(`[${one.replace('tools/call', 'ping')}]`), /the method of call 1 of "demo" must be one of /],
    ['no params', withCalls(`[${one.replace('{}', '[]')}]`), /the params of call 1 of "demo" must be an object$/],
    ['two names', withCalls(`[${one},${one}]`), /"demo" has two calls "n"$/],
    ['levels', withCalls(`[${'['.repeat(200_000)}`), /it has more than 100 levels$/],
    ['many values', withCalls(`[${'1,'.repeat(200_000)}1]`), /it has more than 100000 keys and values$/],
    ['many bytes', ' '.repeat(1024 * 1024 + 1), /it is larger than 1048576 bytes$/],
  ])('%s', async (_, text, message) => {
    write(text);
    const refused = [saved.list('demo'), saved.save('demo', call('One'), []), saved.remove('demo', 'n')];
    await Promise.all(refused.map((each) => expect(each).rejects.toThrow(message)));
    expect(written()).toBe(text);
  });

  test('a directory, or a link to nothing', async () => {
    mkdirSync(file, { recursive: true });
    await expect(saved.save('demo', call('One'), [])).rejects.toThrow(`cannot use ${file}: it is a directory`);
    if (!posix) return;
    rmSync(file, { recursive: true });
    symlinkSync(path.join(folder, 'elsewhere'), file);
    await expect(saved.save('demo', call('One'), [])).rejects.toThrow(/it is a link to a file that does not exist$/);
    expect(existsSync(path.join(folder, 'elsewhere'))).toBe(false);
  });
});

describe('rules', () => {
  const delay: SavedRule = { filter: 'tool:add kind:result', action: { type: 'delay', ms: 2000 }, enabled: true };

  test('are saved for their server, as the guide shows it', async () => {
    const guide = readFileSync(`${root}docs/inspector.md`, 'utf8');
    const [, example] = /### Saved calls and rules\n[^]*?\*\*Save rules\*\*[^]*?```json\n([^]*?)```/.exec(guide)!;
    await saved.saveRules('mine', [delay], []);
    expect(written()).toBe(example);
  });

  test('keep their order, replace those before, and leave the calls as they are', async () => {
    const drop: SavedRule = { filter: '', action: { type: 'drop' }, enabled: false, nth: 2 };
    await saved.save('demo', call('One'), []);
    await saved.saveRules('demo', [delay], []);
    await saved.saveRules('demo', [drop, delay], []);
    await saved.saveRules('other', [delay], []);
    expect(await new SavedCalls({ file }).rules('demo')).toEqual([drop, delay]);
    expect(await saved.list('demo')).toHaveLength(1);
    await saved.saveRules('demo', [], []);
    await saved.saveRules('other', [], []);
    expect(written()).not.toContain('rules');
    expect(await saved.rules('demo')).toEqual([]);
  });

  test('with a secret are not saved', async () => {
    const secret = { ...delay, filter: 'configured-secret' };
    await expect(saved.saveRules('demo', [secret], [])).rejects.toThrow('The rules contain a secret');
    await expect(saved.saveRules('demo', [{ ...delay, filter: '"of a header"' }], ['of a header'])).rejects.toThrow(
      'The rules contain a secret, so they are not saved.',
    );
    expect(existsSync(file)).toBe(false);
  });

  test.each([
    [{ rules: [] }, '"rules" must be an object'],
    [{ rules: { demo: {} } }, '"demo" must be an array of rules'],
    [{ rules: { demo: [1] } }, 'rule 1 of "demo" must be an object'],
    [{ rules: { demo: [{ ...delay, x: 1 }] } }, 'rule 1 of "demo" has an unknown member "x"'],
    [{ rules: { demo: [{ ...delay, filter: 1 }] } }, 'the filter of rule 1 of "demo" must be a string'],
    [{ rules: { demo: [{ ...delay, action: { type: 'cut' } }] } }, 'the action of rule 1 of "demo" must be an action'],
    [{ rules: { demo: [{ ...delay, enabled: 1 }] } }, '"enabled" of rule 1 of "demo" must be true or false'],
    [{ rules: { demo: [{ ...delay, nth: 0 }] } }, '"nth" of rule 1 of "demo" must be a whole number from 1'],
  ])('of a malformed file are not used: %j', async (content, why) => {
    write(JSON.stringify({ version: 1, servers: {}, ...content }));
    await expect(saved.rules('demo')).rejects.toThrow(why);
  });
});

test('the file and the number of calls are bounded', async () => {
  const large = saved.save('demo', call('One', { text: 'x'.repeat(1024 * 1024) }), []);
  await expect(large).rejects.toThrow(`${file} would be larger than 1048576 bytes.`);
  expect(existsSync(file)).toBe(false);
  const calls = Array.from({ length: 500 }, (_, at) => ({ name: `n${at}`, method: 'tools/call', params: {} }));
  write(JSON.stringify({ version: 1, servers: { demo: calls } }));
  await expect(saved.save('demo', call('One'), [])).rejects.toThrow('There are already 500 saved calls.');
  await saved.save('demo', { ...call('n7', { a: 1 }), replace: true }, []);
  await saved.save('other', call('One'), []);
});

test('a file may have very many calls, but none twice', async () => {
  const calls = Array.from({ length: 12_000 }, (_, at) => ({ name: `call ${at}`, method: 'tools/call', params: {} }));
  write(JSON.stringify({ version: 1, servers: { demo: calls } }));
  expect(await saved.list('demo')).toHaveLength(12_000);
  write(JSON.stringify({ version: 1, servers: { demo: [...calls, calls[7]] } }));
  await expect(saved.list('demo')).rejects.toThrow('"demo" has two calls "call 7"');
});

test('parameters that would be sent differently are refused', async () => {
  const refused = (params: string) => async () => saved.save('demo', { ...call('One'), params }, []);
  await expect(refused('{"a":9007199254740993}')()).rejects.toThrow(/would be sent as/);
  await expect(refused('[]')()).rejects.toThrow('The parameters must be a JSON object.');
});
