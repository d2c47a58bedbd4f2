import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Worker } from 'node:worker_threads';
import { afterAll, expect, test } from 'vitest';
import type { Wiretap } from '../../transport/wiretap.ts';
import { bytesOf, sha256 } from '../../../test/support/captured.ts';
import { Capture } from '../capture.ts';
import { readRecording } from '../read-recording.ts';
import { recordToFile } from '../record-to-file.ts';
import type { WireRecord } from '../record.ts';
import type * as CaptureWorkerFile from './capture-worker.ts';

// A thread begins with a built file.
const built = pathToFileURL(path.resolve('dist/lib/capture-worker.js')).href;
const { startCaptureWorker } = (await import(built)) as typeof CaptureWorkerFile;

const folder = mkdtempSync(path.join(tmpdir(), 'everwire-'));
afterAll(() => rmSync(folder, { recursive: true }));

const failed = (error: Error): never => {
  throw error;
};

async function read(file: string): Promise<WireRecord[]> {
  const records: WireRecord[] = [];
  for await (const record of await readRecording(file)) records.push({ ...record, t: 0 });
  return records;
}

/** Two connections at the same time, in pieces. */
async function traffic(wiretap: Wiretap): Promise<void> {
  const http = wiretap.open({ protocol: 'http', role: 'server', peer: '127.0.0.1:1' });
  const stdio = wiretap.open({ protocol: 'stdio', role: 'client', peer: 'server' });
  for (let n = 0; n < 500; n += 1) {
    const message = `{"jsonrpc":"2.0","id":${n},"method":"tools/call","params":{"text":"€${'x'.repeat(n * 7)}"}}`;
    const request = Buffer.from(
      `POST /mcp HTTP/1.1\r\nAuthorization: Bearer hidden\r\nContent-Length: ${Buffer.byteLength(message)}\r\n\r\n${message}`,
    );
    http.bytes('c>s', request.subarray(0, n));
    stdio.bytes('s>c', Buffer.from([0xff, n]));
    http.bytes('c>s', request.subarray(n));
    stdio.bytes('c>s', Buffer.from(`${message}\n`));
    if (n % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  stdio.close();
  http.close();
}

test('a recording of a worker has the same bytes in the same order, and no secret', async () => {
  const [theirs, ours] = [path.join(folder, 'worker'), path.join(folder, 'main')];
  const worker = await startCaptureWorker({ file: theirs, target: 'both', onerror: failed });
  await traffic(worker.wiretap);
  await worker.close();
  const capture = new Capture();
  const recording = await recordToFile(capture, ours, { target: 'both', onerror: failed });
  await traffic(capture);
  await recording.close();
  const [one, other] = [await read(theirs), await read(ours)];
  expect(one).toEqual(other);
  expect(sha256(bytesOf(one, 'c>s', 2))).toBe(sha256(bytesOf(other, 'c>s', 2)));
  expect(bytesOf(one, 'c>s').toString()).not.toContain('hidden');
  expect(one.filter((record) => record.layer === 'message' && record.conn === 1)).toHaveLength(500);
  expect((await readRecording(theirs)).header).toMatchObject({ target: 'both' });
});

test('a worker that ends is reported once, and the traffic goes on', async () => {
  const started = new Promise<Worker>((resolve) => process.once('worker', resolve));
  const file = path.join(folder, 'ended');
  const errors: string[] = [];
  const reported = new Promise<void>((resolve) => {
    const onerror = ({ message }: Error): void => {
      errors.push(message);
      resolve();
    };
    void startCaptureWorker({ file, target: 'x', onerror }).then(async ({ wiretap, close }) => {
      const tap = wiretap.open({ protocol: 'stdio', role: 'client' });
      tap.bytes('s>c', Buffer.from('x'));
      await (await started).terminate();
      tap.bytes('s>c', Buffer.from('y'));
      await close();
    });
  });
  await reported;
  expect(errors).toEqual([`the recording ${file} is incomplete: its thread ended`]);
});

test('a worker that fails is reported once, and the process goes on', async () => {
  const started = new Promise<Worker>((resolve) => process.once('worker', resolve));
  const file = path.join(folder, 'failed');
  const errors: string[] = [];
  const capture = await startCaptureWorker({
    ...{ file, target: 'x' },
    onerror: ({ message }) => errors.push(message),
  });
  const worker = await started;
  const exited = new Promise((resolve) => void worker.once('exit', resolve));
  // A batch that ends within an event.
  worker.postMessage({ last: Uint8Array.of(3, 0, 0) }, []);
  await exited;
  // An error that nobody handles would be found in the next turn.
  await new Promise((resolve) => void setImmediate(resolve));
  await capture.close();
  expect(errors).toEqual([expect.stringMatching(/^the recording .* is incomplete: .*outside buffer bounds/)]);
});

test('what cannot be written at the end is reported too', async () => {
  const file = path.join(folder, 'full');
  const script = `
    import { startCaptureWorker } from ${JSON.stringify(built)};
    const { wiretap, close } = await startCaptureWorker({
      file: process.argv[2], target: 'x', onerror: ({ message }) => console.log(message) });
    wiretap.open({ protocol: 'stdio', role: 'client' }).bytes('s>c', Buffer.alloc(10_000, 'x'));
    await close();
    console.log('closed');`;
  const program = path.join(folder, 'program.mjs');
  writeFileSync(program, script);
  // A shell counts the limit in half or whole kibibytes.
  const command = ['-c', 'ulimit -f 1; exec "$@"', 'sh', process.execPath, program, file];
  const { stdout } = spawnSync('sh', command, { encoding: 'utf8' });
  expect(stdout).toBe(`the recording ${file} is incomplete: the file has reached the size limit\nclosed\n`);
});

test('a file that cannot be written is reported at once', async () => {
  const file = path.join(folder, 'none', 'a');
  await expect(startCaptureWorker({ file, target: 'x', onerror: failed })).rejects.toThrow(
    `cannot record to ${file}: there is no such file or folder`,
  );
});
