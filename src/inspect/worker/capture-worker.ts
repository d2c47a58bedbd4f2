import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData, type MessagePort } from 'node:worker_threads';
import type { Wiretap } from '../../transport/wiretap.ts';
import { startClock } from '../clock.ts';
import { RecordLog } from '../record-log.ts';
import { recordToFile } from '../record-to-file.ts';
import { wireEvents } from '../wire-events.ts';
import { EventBatches } from './event-batches.ts';
import { readEvents } from './event-format.ts';

/**
 * A capture whose work is done in a thread of its own: this file is loaded in both. The thread of the connections only
 * copies what it sees.
 */

/** How many bytes may wait for the worker. It is slower only if the machine is busy. */
const MAX_WAITING = 16 * 1024 * 1024;

/** What a capture in a worker does. */
export interface CaptureWorkerOptions {
  /** The file to record to, as `recordToFile` does. */
  readonly record: { readonly file: string; readonly target: string };
  /** Called once if nothing more is recorded: the file cannot be written, or the worker failed. */
  readonly onerror: (error: Error) => void;
}

/** A capture in a worker. The process lives until it is closed. */
export interface CaptureWorker {
  readonly wiretap: Wiretap;
  /** Ends the capture. Resolves when everything is written. */
  close(): Promise<void>;
}

/** How the worker begins. */
interface Setup {
  readonly everwire: 'capture';
  readonly record: CaptureWorkerOptions['record'];
  readonly started: Date;
  /** One number: how many bytes of batches the worker has taken, without the bits above the 32nd. */
  readonly taken: Int32Array;
}

/** What the worker says. It is ready once, or has failed. */
type Report = { readonly ready: true } | { readonly problem: string };

/**
 * Starts a capture in a worker.
 *
 * @throws Error with a readable message if the file cannot be written.
 */
export async function startCaptureWorker({ record, onerror }: CaptureWorkerOptions): Promise<CaptureWorker> {
  const { started, now } = startClock();
  const taken = new Int32Array(new SharedArrayBuffer(4));
  const setup: Setup = { everwire: 'capture', record, started, taken };
  const worker = new Worker(new URL(import.meta.url), { workerData: setup });
  const [report] = (await once(worker, 'message')) as [Report];
  if ('problem' in report) throw new Error(report.problem);
  let alive = true;
  const fail = (error: Error): void => {
    if (alive) onerror(error);
    alive = false;
  };
  // `once` would reject if the worker fails, and nobody would handle that before `close`.
  const exited = new Promise((resolve) => void worker.once('exit', resolve));
  worker.on('message', ({ problem }: Extract<Report, { problem: string }>) => fail(new Error(problem)));
  worker.on('error', (cause) =>
    fail(new Error(`the recording ${record.file} is incomplete: ${cause.message}`, { cause })),
  );
  worker.on('exit', () => fail(new Error(`the recording ${record.file} is incomplete: its thread ended`)));
  let sent = 0;
  const batches = new EventBatches({
    post: (batch) => {
      sent += batch.length;
      worker.postMessage(batch, [batch.buffer as ArrayBuffer]);
    },
    waiting: () => (sent - Atomics.load(taken, 0)) >>> 0,
    maxWaiting: MAX_WAITING,
  });
  return {
    wiretap: wireEvents(now, (event) => {
      if (alive) batches.add(event);
    }),
    async close() {
      if (alive) batches.end(now());
      alive = false;
      worker.postMessage('close', []);
      await exited;
    },
  };
}

async function serve(port: MessagePort, { record, started, taken }: Setup): Promise<void> {
  const report = (message: Report): void => port.postMessage(message);
  const log = new RecordLog(started, false);
  try {
    const { file, target } = record;
    const recording = await recordToFile(log, file, { target, onerror: ({ message }) => report({ problem: message }) });
    port.on('message', (message: Uint8Array | 'close') => {
      if (message === 'close') void recording.close().then(() => port.close());
      else {
        const batch = Buffer.from(message.buffer, message.byteOffset, message.byteLength);
        for (const event of readEvents(batch)) log.add(event);
        Atomics.add(taken, 0, message.length);
      }
    });
    report({ ready: true });
  } catch (error) {
    report({ problem: (error as Error).message });
  }
}

const setup: unknown = workerData;
if (!isMainThread && typeof setup === 'object' && setup !== null && 'everwire' in setup)
  void serve(parentPort!, setup as Setup);
