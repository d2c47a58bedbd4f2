import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect, type Client, type ClientOptions } from '../../../src/client/index.ts';
import { eventually } from '../../support/process.ts';
import { textOf } from '../../support/reader.ts';

const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-filesystem/dist/index.js'));
const errors: Error[] = [];

async function folder(): Promise<string> {
  const made = await realpath(await mkdtemp(path.join(tmpdir(), 'everwire-')));
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
}

async function start(folders: readonly string[], options: ClientOptions = {}): Promise<Client> {
  const client = await connect(
    { command: process.execPath, args: [program, ...folders], stderr: 'ignore' },
    { onerror: (error) => void errors.push(error), ...options },
  );
  onTestFinished(() => client.close());
  return client;
}

const allowed = async (client: Client): Promise<string> =>
  String(textOf(await client.callTool('list_allowed_directories')));

describe('server-filesystem', () => {
  test('writes, reads, edits, moves, searches and refuses, as its schemas say', async () => {
    const here = await folder();
    const client = await start([here]);
    const tools = await client.listTools();
    expect(tools.every(({ outputSchema }) => outputSchema !== undefined)).toBe(true);
    const at = (name: string): string => path.join(here, name);
    const content = 'one\ntwo\n';
    await client.callTool('write_file', { path: at('a.txt'), content });
    expect(await readFile(at('a.txt'), 'utf8')).toBe(content);
    const edits = [{ oldText: 'two', newText: 'zwei — zwölf' }];
    await client.callTool('edit_file', { path: at('a.txt'), edits });
    await client.callTool('move_file', { source: at('a.txt'), destination: at('b.txt') });
    const read = await client.callTool('read_text_file', { path: at('b.txt') });
    expect(read.structuredContent).toEqual({ content: 'one\nzwei — zwölf\n' });
    const { structuredContent: found } = await client.callTool('search_files', { path: here, pattern: '*.txt' });
    expect(found).toEqual({ content: at('b.txt') });
    await writeFile(at('dot.png'), Buffer.from([1, 2, 3]));
    const { content: media } = await client.callTool('read_media_file', { path: at('dot.png') });
    expect(media).toEqual([{ type: 'image', data: 'AQID', mimeType: 'image/png' }]);
    const outside = await client.callTool('read_text_file', { path: program });
    expect(outside.isError).toBe(true);
    expect(textOf(outside)).toContain('Access denied');
    expect(errors).toEqual([]);
  });

  test('works below the roots, and follows their changes', async () => {
    const [first, second] = [await folder(), await folder()];
    let roots = [{ uri: pathToFileURL(first).href, name: 'first' }];
    const client = await start([], { onroots: () => roots });
    await eventually(async () => (await allowed(client)).includes(first), 'the server has the roots');
    roots = [{ uri: pathToFileURL(second).href, name: 'second' }];
    await client.rootsChanged();
    await eventually(async () => (await allowed(client)).includes(second), 'the server has the new roots');
    expect(await allowed(client)).not.toContain(first);
    expect(errors).toEqual([]);
  });

  test('gets the roots that it requests outside of calls', async () => {
    const here = await folder();
    let asked = 0;
    const client = await start([], {
      onroots: () => {
        asked += 1;
        return [{ uri: pathToFileURL(here).href }];
      },
    });
    await eventually(() => asked === 1, 'the server asks for roots');
    await client.rootsChanged();
    await eventually(() => asked === 2, 'the server asks again');
    await eventually(async () => (await allowed(client)).includes(here), 'the server has the roots');
  });
});
