import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData, type MessagePort } from 'node:worker_threads';
import type { Wiretap } from '../../transport/wiretap.ts';
import type { BreakpointControl, BreakpointState } from '../breakpoints/breakpoint-api.ts';
import { borrowBreakpoints, isAboutBreakpoints, lendBreakpoints } from '../breakpoints/remote.ts';
import { startClock } from '../clock.ts';
import { RecordLog } from '../record-log.ts';
import { recordToFile } from '../record-to-file.ts';
import type { PageServer } from '../page-server/page-server.ts';
import { wireEvents } from '../wire-events.ts';
import { Backlog } from './backlog.ts';
import { BatchSlots } from './batch-slots.ts';
import { EventBatches } from './event-batches.ts';
import { RecordedBatches } from './recorded-batches.ts';

/**
 * A capture that works in a thread of its own. The thread of the connections only copies bytes. Both threads load this
 * file.
 */

/** What a capture in a worker does. */
export interface CaptureWorkerOptions {
  /** What is captured, to show to users. */
  readonly target: string;
  /** The file to record to, as `recordToFile` does. Default none. */
  readonly file?: string | undefined;
  /** Where to serve the page of the inspector as an observer, with the files in `folder`. Default: no page. */
  readonly page?: { readonly port: number; readonly folder: string } | undefined;
  /** Breakpoints for what is captured. The page can set them. Default none. */
  readonly breakpoints?: BreakpointControl | undefined;
  /** Called once if nothing more is recorded: the file cannot be written, or the worker failed. */
  readonly onerror: (error: Error) => void;
}

/** A capture in a worker. It keeps the process alive until it is closed. */
export interface CaptureWorker {
  readonly wiretap: Wiretap;
  /** The address of the page, with its token. Undefined without a page. */
  readonly url?: string | undefined;
  /** Ends the capture. Resolves when everything is written. */
  close(): Promise<void>;
}

/** What the worker is started with. */
interface Setup extends Omit<CaptureWorkerOptions, 'breakpoints' | 'onerror'> {
  readonly everwire: 'capture';
  /** Undefined without breakpoints. */
  readonly breakpoints: BreakpointState | undefined;
  readonly started: Date;
  /** Shared by both threads: batches of what happens. */
  readonly memory: SharedArrayBuffer;
}

/** A message to the worker. */
type Order =
  /** A batch is to be read. */
  | readonly [slot: number, length: number]
  /** Nothing follows after this last batch. */
  | { readonly last: Uint8Array };

/** How many read what is captured, or that the worker has failed. */
type Report = { readonly readers: number; readonly url?: string | undefined } | { readonly problem: string };

/** A message from the worker. The first is a report: it is ready, or why it is not. */
type FromWorker = Report | { readonly done: true };

/**
 * Starts a capture in a worker.
 *
 * @throws Error with a readable message if the file cannot be written, or the port cannot be used.
 */
export async function startCaptureWorker({
  onerror,
  breakpoints,
  ...options
}: CaptureWorkerOptions): Promise<CaptureWorker> {
  const { started, now } = startClock();
  const slots = new BatchSlots();
  const setup: Setup = {
    ...{ everwire: 'capture', started, memory: slots.memory },
    ...options,
    breakpoints: breakpoints?.state,
  };
  const worker = new Worker(new URL(import.meta.url), { workerData: setup });
  const [report] = (await once(worker, 'message')) as [Report];
  if ('problem' in report) throw new Error(report.problem);
  if (breakpoints) lendBreakpoints(breakpoints, worker);
  const send = (order: Order): void => worker.postMessage(order, []);
  const batches = new EventBatches(slots, (slot, length) => send([slot, length]));
  batches.isRead = report.readers > 0;
  let alive = true;
  let closing = false;
  const fail = (error: Error): void => {
    if (alive) onerror(error);
    alive = false;
    batches.stop();
  };
  const what = options.file === undefined ? 'what the page shows' : `the recording ${options.file}`;
  // `once` would reject if the worker fails, and nobody would handle that before `close`.
  const exited = new Promise((resolve) => void worker.once('exit', resolve));
  worker.on('message', (message: FromWorker) => {
    if ('done' in message) void worker.terminate();
    else if ('problem' in message) fail(new Error(message.problem));
    else if ('readers' in message) batches.isRead = message.readers > 0;
  });
  worker.on('error', (cause) => fail(new Error(`${what} is incomplete: ${cause.message}`, { cause })));
  worker.on('exit', () => {
    if (!closing) fail(new Error(`${what} is incomplete: its thread ended`));
  });
  return {
    url: report.url,
    wiretap: wireEvents(now, batches),
    async close() {
      closing = true;
      send({ last: batches.end(now()) });
      await exited;
    },
  };
}

async function serve(port: MessagePort, { target, file, page, started, memory, ...setup }: Setup): Promise<void> {
  const report = (message: FromWorker): void => port.postMessage(message);
  let readers = 0;
  let isReady = false;
  const onreader = (change: 1 | -1): void => {
    readers += change;
    if (isReady) report({ readers });
  };
  // The recording and the page find records on their own, because nobody may ever look at the page. They find them when
  // they are read: records that wait cost several times as much.
  const recorded = new RecordedBatches(started);
  const toShow = new Backlog();
  const log = new RecordLog(started, { backlog: toShow, onreader });
  const onerror = ({ message }: Error): void => {
    onreader(-1);
    report({ problem: message });
  };
  try {
    const recording = file === undefined ? undefined : await recordToFile(recorded, file, { target, onerror });
    if (recording) onreader(1);
    const breakpoints = setup.breakpoints && borrowBreakpoints(port, setup.breakpoints);
    const shown = page && (await show(log, target, { ...page, breakpoints }));
    const close = async (): Promise<void> => {
      log.close();
      await recording?.close();
      await shown?.close();
      report({ done: true });
    };
    const slots = new BatchSlots(memory);
    const take = (batch: Buffer): void => {
      if (recording) recorded.add(batch);
      if (!shown) return;
      toShow.add(batch);
      log.wake();
    };
    port.on('message', (order: Order) => {
      if (isAboutBreakpoints(order)) return;
      if ('last' in order) {
        take(Buffer.from(order.last));
        void close();
      } else take(slots.read(...order));
    });
    isReady = true;
    report({ readers, url: shown?.url });
  } catch (error) {
    report({ problem: (error as Error).message });
  }
}

async function show(
  capture: RecordLog,
  target: string,
  page: NonNullable<CaptureWorkerOptions['page']> & Pick<CaptureWorkerOptions, 'breakpoints'>,
): Promise<PageServer> {
  const [{ servePage }, { fixedState }] = await Promise.all([
    import('../page-server/page-server.ts'),
    import('../page-server/state-feed.ts'),
  ]);
  return servePage({ capture, feed: fixedState('observer', target), ...page });
}

const setup: unknown = workerData;
if (!isMainThread && typeof setup === 'object' && setup !== null && 'everwire' in setup)
  void serve(parentPort!, setup as Setup);
