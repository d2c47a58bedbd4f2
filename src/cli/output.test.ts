import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ContentBlock } from '../protocol/types.ts';
import { Output, type OutputFlags } from './output.ts';

class Sink extends Writable {
  readonly isTTY: boolean;
  readonly columns = 30;
  readonly chunks: Buffer[] = [];

  constructor(isTTY: boolean) {
    super();
    this.isTTY = isTTY;
  }

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    this.chunks.push(chunk);
    callback();
  }

  get text(): string {
    return Buffer.concat(this.chunks).toString();
  }
}

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'everwire-output-'));
});

afterEach(() => rmSync(directory, { recursive: true }));

function outputOn(isTTY = false, flags: OutputFlags = {}): { output: Output; sink: Sink } {
  const sink = new Sink(isTTY);
  return { output: new Output(flags, sink), sink };
}

const image: ContentBlock = { type: 'image', data: 'AQID', mimeType: 'image/png' };

test.each<[ContentBlock, string]>([
  [{ type: 'text', text: 'as it is' }, 'as it is\n'],
  [{ type: 'text', text: 'two\nlines\n' }, 'two\nlines\n'],
  [{ type: 'text', text: '' }, ''],
  [image, '[image/png, 3 bytes]\n'],
  [{ type: 'audio', data: '', mimeType: 'audio/wav' }, '[audio/wav, 0 bytes]\n'],
  [{ type: 'resource', resource: { uri: 'a:b', text: 'inside' } }, 'inside\n'],
  [{ type: 'resource', resource: { uri: 'a:b', blob: 'AQ==' } }, '[application/octet-stream, 1 byte]\n'],
  [{ type: 'resource_link', uri: 'a:b', name: 'b' }, '[link to a:b: b]\n'],
  [{ type: 'resource_link', uri: 'a:b', name: 'b', size: 'x' } as unknown as ContentBlock, '[link to a:b: b]\n'],
  [
    { type: 'resource_link', uri: 'a:b', name: 'b', title: 'B', mimeType: 'text/plain', size: 1200 },
    '[link to a:b: B, text/plain, 1.2 kB]\n',
  ],
  [{ type: 'hologram', depth: 3 } as unknown as ContentBlock, '[{"type":"hologram","depth":3}]\n'],
])('%j is shown', async (block, shown) => {
  const { output, sink } = outputOn();
  await output.block(block);
  expect(sink.text).toBe(shown);
});

describe('a terminal', () => {
  test("cannot be controlled by a server's text, but a pipe gets the text unchanged", async () => {
    const terminal = outputOn(true);
    const pipe = outputOn(false);
    for (const { output } of [terminal, pipe]) await output.text('a\u001b[2Jb');
    expect(terminal.sink.text).toBe('a\\u001b[2Jb\n');
    expect(pipe.sink.text).toBe('a\u001b[2Jb\n');
  });

  test('has tables that fit its width, but a pipe has complete tables', async () => {
    const terminal = outputOn(true);
    const pipe = outputOn(false);
    for (const { output } of [terminal, pipe]) await output.table([['name', 'x'.repeat(50)]]);
    expect(terminal.sink.text).toHaveLength(31);
    expect(pipe.sink.text).toContain('x'.repeat(50));
  });
});

describe('an output file', () => {
  test('gets binary content, and further contents get numbered files', async () => {
    const file = path.join(directory, 'out.png');
    const { output, sink } = outputOn(false, { output: file });
    await output.block({ type: 'text', text: 'text' });
    await output.block(image);
    await output.block({ ...image, data: 'BAUG' });
    expect([...readFileSync(file)]).toEqual([1, 2, 3]);
    const second = path.join(directory, 'out-2.png');
    expect([...readFileSync(second)]).toEqual([4, 5, 6]);
    expect(sink.text).toBe(
      `text\n[image/png, 3 bytes, written to ${file}]\n[image/png, 3 bytes, written to ${second}]\n`,
    );
  });

  test('gets the text of a resource', async () => {
    const file = path.join(directory, 'note.txt');
    const { output, sink } = outputOn(false, { output: file });
    await output.contents({ uri: 'a:b', mimeType: 'text/plain', text: 'Grüße' }, { save: true });
    expect(readFileSync(file, 'utf8')).toBe('Grüße');
    expect(sink.text).toBe(`[text/plain, 7 bytes, written to ${file}]\n`);
  });

  test('is stdout if its name is -', async () => {
    const { output, sink } = outputOn(false, { output: '-' });
    await output.block({ ...image, data: '/wB/' });
    expect([...Buffer.concat(sink.chunks)]).toEqual([255, 0, 127]);
  });

  test('that cannot be written causes an error', async () => {
    const { output } = outputOn(false, { output: path.join(directory, 'nowhere', 'out.png') });
    await expect(output.block(image)).rejects.toThrow(
      expect.objectContaining({ exitCode: 1, message: expect.stringMatching(/^cannot write .*out\.png/) }),
    );
  });
});

test('a reader that stops early causes no error', async () => {
  const left = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
  const sink = new Writable({ write: (_chunk, _encoding, callback) => callback(left) });
  sink.on('error', () => {});
  await expect(new Output({}, sink).text('x')).resolves.toBeUndefined();
});

test('JSON is indented, or on one line', async () => {
  const { output, sink } = outputOn(true);
  await output.value({ a: 'ü' });
  await output.value({ a: [1] }, { line: true });
  expect(sink.text).toBe('{\n  "a": "ü"\n}\n{"a":[1]}\n');
});
