import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readTextFile, replaceFile } from './replace-file.ts';

const MAX = 1000;
const posix = process.platform !== 'win32';
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'everwire-replace-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

const at = (...names: string[]): string => path.join(folder, ...names);
const mode = (file: string): string => (statSync(file).mode & 0o777).toString(8);

async function replace(file: string, text: string): Promise<void> {
  await replaceFile(await readTextFile(file, MAX), text);
}

describe('a file', () => {
  test('is replaced, and nothing else remains', async () => {
    writeFileSync(at('a.json'), 'old');
    await replace(at('a.json'), 'new ü');
    expect(readFileSync(at('a.json'), 'utf8')).toBe('new ü');
    expect(readdirSync(folder)).toEqual(['a.json']);
  });

  test.runIf(posix)('keeps its mode', async () => {
    writeFileSync(at('a.json'), 'old');
    chmodSync(at('a.json'), 0o664);
    await replace(at('a.json'), 'new');
    expect(mode(at('a.json'))).toBe('664');
  });

  test.runIf(posix)('is created with its folders, for its owner alone', async () => {
    await replace(at('x', 'y', 'a.json'), 'new');
    expect(readFileSync(at('x', 'y', 'a.json'), 'utf8')).toBe('new');
    expect([mode(at('x')), mode(at('x', 'y')), mode(at('x', 'y', 'a.json'))]).toEqual(['700', '700', '600']);
  });

  test.runIf(posix)('behind a link is replaced, and the link stays', async () => {
    mkdirSync(at('real'));
    writeFileSync(at('real', 'a.json'), 'old');
    symlinkSync(path.join('real', 'a.json'), at('link.json'));
    await replace(at('link.json'), 'new');
    expect(lstatSync(at('link.json')).isSymbolicLink()).toBe(true);
    expect(readFileSync(at('real', 'a.json'), 'utf8')).toBe('new');
  });

  test('that another program has changed is not replaced', async () => {
    writeFileSync(at('a.json'), 'old');
    const read = await readTextFile(at('a.json'), MAX);
    writeFileSync(at('a.json'), 'theirs');
    await expect(replaceFile(read, 'new')).rejects.toThrow(/^another program has changed it meanwhile/);
    expect(readFileSync(at('a.json'), 'utf8')).toBe('theirs');
    const missing = await readTextFile(at('b.json'), MAX);
    writeFileSync(at('b.json'), '');
    await expect(replaceFile(missing, 'new')).rejects.toThrow(/^another program has changed it meanwhile/);
  });

  test.runIf(process.platform === 'linux')(
    'that changes while its next content is written is not replaced',
    async () => {
      writeFileSync(at('a.json'), 'old');
      const watcher = watch(folder, (_, name) => {
        if (name?.endsWith('.tmp')) writeFileSync(at('a.json'), 'theirs');
      });
      try {
        await expect(replace(at('a.json'), 'new')).rejects.toThrow(/^another program has changed it meanwhile/);
      } finally {
        watcher.close();
      }
      expect(readFileSync(at('a.json'), 'utf8')).toBe('theirs');
      expect(readdirSync(folder)).toEqual(['a.json']);
    },
  );

  test('that is no text any more is not replaced', async () => {
    writeFileSync(at('a.json'), '');
    const read = await readTextFile(at('a.json'), MAX);
    writeFileSync(at('a.json'), Buffer.from([0xff]));
    await expect(replaceFile(read, 'new')).rejects.toThrow(/^another program has changed it meanwhile/);
  });

  // Root may write everything.
  test.runIf(posix && process.getuid!() !== 0)('that is write-protected is not replaced', async () => {
    writeFileSync(at('a.json'), 'old');
    chmodSync(at('a.json'), 0o444);
    await expect(replace(at('a.json'), 'new')).rejects.toThrow(/EACCES/);
    expect(readFileSync(at('a.json'), 'utf8')).toBe('old');
  });

  test('that cannot be replaced is as before, and nothing else remains', async () => {
    writeFileSync(at('a.json'), 'old');
    const read = await readTextFile(at('a.json'), MAX);
    await expect(replaceFile({ ...read, file: at('a.json', 'b.json'), text: undefined }, 'new')).rejects.toThrow(/ENO/);
    expect(readdirSync(folder)).toEqual(['a.json']);
  });
});

describe('what is read', () => {
  test('keeps its byte order mark', async () => {
    writeFileSync(at('a.json'), '\ufeff{}\r\n');
    expect((await readTextFile(at('a.json'), MAX)).text).toBe('\ufeff{}\r\n');
  });

  test('may be a hard link', async () => {
    writeFileSync(at('a.json'), 'old');
    linkSync(at('a.json'), at('b.json'));
    expect((await readTextFile(at('b.json'), MAX)).text).toBe('old');
  });

  test('is text in UTF-8', async () => {
    writeFileSync(at('a.json'), Buffer.from([0x7b, 0xff, 0x7d]));
    await expect(readTextFile(at('a.json'), MAX)).rejects.toThrow(/^it is not a text in UTF-8$/);
  });

  test.runIf(posix)('is no folder, and no link to nothing', async () => {
    symlinkSync('nothing', at('link.json'));
    await expect(readTextFile(at('link.json'), MAX)).rejects.toThrow(/^it is a link to a file that does not exist$/);
    await expect(readTextFile(folder, MAX)).rejects.toThrow(/^it is a directory$/);
  });
});
