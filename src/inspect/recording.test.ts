import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { Capture } from './capture.ts';
import type { CaptureOptions } from './record-log.ts';
import { readRecording, RecordingError, type Recording } from './read-recording.ts';
import { recordToFile, type RecordToFileOptions } from './record-to-file.ts';
import type { WireRecord } from './record.ts';
import { LineBuffer } from './line-buffer.ts';
import { parseRecord } from './recording-format.ts';

const folder = mkdtempSync(join(tmpdir(), 'everwire-'));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const newFile = (): string => join(folder, `${(files += 1)}.mcpcap`);

const failed = (error: Error): never => {
  throw error;
};

/** Records what a function does with a capture. */
async function recorded(
  work: (capture: Capture) => void | Promise<void>,
  { file = newFile(), ...options }: Partial<RecordToFileOptions> & CaptureOptions & { file?: string } = {},
): Promise<string> {
  const capture = new Capture(options);
  const recording = await recordToFile(capture, file, { onerror: failed, ...options });
  await work(capture);
  await recording.close();
  return file;
}

async function all(recording: Recording): Promise<WireRecord[]> {
  const records: WireRecord[] = [];
  for await (const record of recording) records.push(record);
  return records;
}

const REQUEST = 'POST /mcp?token=abc HTTP/1.1\r\nAuthorization: Bearer abc\r\nContent-Length: 15\r\n\r\n{"method":"ä"}';

function request(capture: Capture): void {
  const tap = capture.open({ protocol: 'http', role: 'server', peer: '127.0.0.1:1' });
  tap.bytes('c>s', Buffer.from(REQUEST).subarray(0, -3));
  tap.bytes('c>s', Buffer.from(REQUEST).subarray(-3));
  tap.close();
}

test('a recording reads as what was captured', async () => {
  const seen: WireRecord[] = [];
  const file = await recorded(
    async (capture) => {
      request(capture);
      capture.close();
      for await (const batch of capture.records()) seen.push(...batch);
    },
    { mask: false, target: 'everything' },
  );
  const recording = await readRecording(file);
  expect(recording.header).toEqual({
    mcpcap: 1,
    started: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    target: 'everything',
    by: expect.stringMatching(/^everwire \d/),
    masked: [],
  });
  expect(await all(recording)).toEqual(seen);
  expect(recording.truncated).toBe(false);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('secrets are masked, and nothing moves', async () => {
  const file = await recorded(request);
  expect(readFileSync(file, 'utf8')).not.toContain('abc');
  const recording = await readRecording(file);
  expect(recording.header.masked).toContain('authorization');
  const records = await all(recording);
  const bytes = Buffer.concat(records.flatMap((record) => (record.layer === 'bytes' ? [record.bytes] : [])));
  expect(bytes.toString()).toBe(REQUEST.replace('token=abc', 'token=***').replace('Bearer abc', '*'.repeat(10)));
  expect(records.find(({ layer }) => layer === 'message')).toMatchObject({ method: 'ä' });
});

test('bytes that are not UTF-8 are written in base64', async () => {
  const file = await recorded((capture) => {
    const tap = capture.open({ protocol: 'stdio', role: 'client' });
    tap.bytes('s>c', Buffer.from('€').subarray(0, 2));
    tap.bytes('s>c', Buffer.from('\u0000\ufeff€\n'));
  });
  const lines = readFileSync(file, 'utf8').split('\n');
  expect(lines[2]).toContain('"base64":"4oI="');
  expect(lines[3]).toContain('"data":"\\u0000\ufeff€\\n"');
  expect((await all(await readRecording(file))).at(-1)).toMatchObject({ layer: 'line' });
});

test('any bytes read as they were', () => {
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ minLength: 1 }), fc.string({ minLength: 1 })), (data) => {
      const bytes = Buffer.from(data as string);
      const range = [5, 5 + bytes.length] as const;
      const record: WireRecord = { n: 1, t: 0, conn: 1, dir: 'c>s', layer: 'bytes', range, bytes };
      const { n, ...event } = record;
      const lines = new LineBuffer(true);
      lines.add(record);
      expect(parseRecord(lines.take().toString(), 0)).toEqual({ n, event });
    }),
  );
});

test('a disk that is slower than the traffic leaves gaps', async () => {
  const file = await recorded(
    (capture) => {
      const tap = capture.open({ protocol: 'stdio', role: 'client' });
      for (let n = 0; n < 100; n += 1) tap.bytes('s>c', Buffer.from(`${n}\n`));
    },
    { maxRecords: 10 },
  );
  const records = await all(await readRecording(file));
  expect(records[0]).toMatchObject({ n: 191, layer: 'gap', from: 1 });
  expect(
    records.slice(1).map((record) => [record.n, record.layer, 'bytes' in record && record.bytes.toString()]),
  ).toEqual([95, 96, 97, 98, 99].map((line, index) => [192 + index, 'bytes', `${line}\n`]));
});

describe('a file', () => {
  test('that exists is replaced, and is then private', async () => {
    const file = newFile();
    writeFileSync(file, 'x'.repeat(10_000), { mode: 0o644 });
    await recorded(request, { file });
    expect(readFileSync(file, 'utf8')).toMatch(/^\{"mcpcap":1,.*\n$/s);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('that cannot be written is reported at once', async () => {
    const link = newFile();
    symlinkSync('/dev/null', link);
    const pipe = newFile();
    execFileSync('mkfifo', [pipe]);
    for (const [file, problem] of [
      [join(folder, 'none', 'a'), 'there is no such file or folder'],
      [folder, 'it is a directory'],
      [link, 'it is a symbolic link'],
      [pipe, 'it is not a regular file'],
      ['/dev/null', 'it is not a regular file'],
    ])
      await expect(recorded(request, { file })).rejects.toThrow(`cannot record to ${file}: ${problem}`);
  });

  test('on a full disk is reported once, and the traffic goes on', async () => {
    const file = newFile();
    const errors: string[] = [];
    const handle = await open(file, 'w');
    const { appendFile } = Object.getPrototypeOf(handle);
    await handle.close();
    let calls = 0;
    const full = vi.spyOn(Object.getPrototypeOf(handle), 'appendFile').mockImplementation(function write(
      this: unknown,
      ...args
    ) {
      calls += 1;
      return calls < 3
        ? appendFile.apply(this, args)
        : Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' }));
    });
    await recorded(
      async (capture) => {
        request(capture);
        await vi.waitUntil(() => calls === 2);
        const tap = capture.open({ protocol: 'stdio', role: 'client' });
        await vi.waitUntil(() => errors.length > 0);
        tap.bytes('s>c', Buffer.from('goes on\n'));
        tap.close();
      },
      { file, onerror: ({ message }) => errors.push(message) },
    );
    full.mockRestore();
    expect(errors).toEqual([`the recording ${file} is incomplete: no space is left on the disk`]);
    expect((await all(await readRecording(file))).map(({ layer }) => layer)).toContain('head');
  });
});

describe('a recording', () => {
  test('whose last line is cut off is read up to there', async () => {
    const file = await recorded(request);
    const whole = await all(await readRecording(file));
    truncateSync(file, statSync(file).size - 1);
    const unended = await readRecording(file);
    expect(await all(unended)).toEqual(whole);
    expect(unended.truncated).toBe(false);
    truncateSync(file, statSync(file).size - 1);
    const recording = await readRecording(file);
    expect(await all(recording)).toEqual(whole.slice(0, -1));
    expect(recording.truncated).toBe(true);
  });

  const HEADER = '{"mcpcap":1,"started":"2026-01-01T00:00:00Z","masked":[]}';
  const reading = async (...lines: string[]): Promise<WireRecord[]> =>
    all(
      await readRecording(
        (async function* () {
          yield Buffer.from(lines.map((line) => `${line}\n`).join(''));
        })(),
      ),
    );

  test.each([
    ['', 'line 1: this is not JSON'],
    ['[]', 'line 1: this is not a JSON object'],
    ['{}', 'line 1: this is not a recording: its first line has no "mcpcap"'],
    ['{"mcpcap":2}', 'line 1: this version reads mcpcap 1, and not 2'],
    ['{"mcpcap":[1]}', 'line 1: "mcpcap" must be a number'],
    ['{"mcpcap":1,"started":"x"}', 'line 1: "started" must be a time'],
    ['{"mcpcap":1,"started":"2026-01-01T00:00:00Z"}', 'line 1: "masked" must be a list of strings'],
  ])('that begins with %j is refused', async (line, message) => {
    await expect(reading(line)).rejects.toThrow(message);
  });

  test.each([
    ['nonsense', 'this is not JSON'],
    ['{"n":0}', '"n" must be a whole number above 0'],
    ['{"n":1,"t":-1}', '"t" must be a number of microseconds'],
    ['{"n":1,"t":0}', '"layer" must be a string'],
    ['{"n":1,"t":0,"layer":"open"}', '"conn" must be'],
    ['{"n":1,"t":0,"layer":"open","conn":1}', '"protocol" must be'],
    ['{"n":1,"t":0,"layer":"open","conn":1,"protocol":"http"}', '"role" must be'],
    ['{"n":1,"t":0,"layer":"bytes","conn":1,"dir":"up"}', '"dir" must be'],
    ['{"n":1,"t":0,"layer":"bytes","conn":1,"dir":"c>s","range":[2,1]}', '"range" must be pairs'],
    ['{"n":1,"t":0,"layer":"bytes","conn":1,"dir":"c>s","range":[1]}', '"range" must be pairs'],
    ['{"n":1,"t":0,"layer":"bytes","conn":1,"dir":"c>s","range":[0,1]}', '"data" or "base64"'],
    ['{"n":1,"t":0,"layer":"bytes","conn":1,"dir":"c>s","range":[0,1],"data":"ab"}', '"range" must be as long'],
    [
      `{"n":1,"t":0,"layer":"bytes","conn":1,"dir":"c>s","range":[0,65537],"data":"${'a'.repeat(65_537)}"}`,
      'a record must not have more than 65536 bytes',
    ],
    ['{"n":5,"t":0,"layer":"gap","from":6}', '"from" must be'],
    [`{"n":1,"note":"${'x'.repeat(1024 * 1024)}"}`, 'longer than 1048576 bytes'],
  ])('with the line %.80s is refused, with the number of the line', async (line, message) => {
    const error = await reading(HEADER, line).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RecordingError);
    expect(String(error)).toContain('the recording, line 2: ');
    expect(String(error)).toContain(message);
  });

  test('of a newer program may have layers that are skipped', async () => {
    expect(
      await reading(HEADER, '{"n":1,"t":0,"layer":"mark","text":"here"}', '{"n":3,"t":1,"layer":"gap","from":2}'),
    ).toEqual([{ n: 2, t: 1, layer: 'gap', from: 1 }]);
  });

  test('with very many open connections has parts of the newest', async () => {
    const lines = Array.from({ length: 10_001 }, (_, conn) => {
      const opening = { n: 2 * conn + 1, t: 0, layer: 'open', conn, protocol: 'stdio', role: 'client' };
      const bytes = { n: 2 * conn + 2, t: 0, conn, dir: 'c>s', layer: 'bytes', range: [0, 1], data: 'a' };
      return `${JSON.stringify(opening)}\n${JSON.stringify(bytes)}`;
    });
    const ends = ['0', '1'].map((data, conn) => {
      const bytes = { t: 0, conn, dir: 'c>s', layer: 'bytes', range: [1, 2], data: '\n' };
      return JSON.stringify({ n: 30_000 + Number(data), ...bytes });
    });
    const records = await reading(HEADER, ...lines, ...ends);
    expect(records.filter(({ layer }) => layer === 'line')).toMatchObject([{ conn: 1, range: [0, 2] }]);
  });

  test('that is not there or empty is refused', async () => {
    await expect(readRecording(join(folder, 'none'))).rejects.toThrow('ENOENT');
    const file = newFile();
    writeFileSync(file, '');
    await expect(readRecording(file)).rejects.toThrow(`${file}, line 1: the file is empty`);
  });
});
