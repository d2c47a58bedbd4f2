import type { Breakpoints } from '../inspect/breakpoints/breakpoints.ts';
import type { Capture } from '../inspect/capture.ts';
import type { Wiretap } from '../transport/wiretap.ts';
import { built } from '../base/built.ts';
import { ExitCode, Failure } from './failure.ts';
import { printStatus } from './print-status.ts';
import { atEnd } from './shutdown.ts';

/**
 * Starts the recording of `--record`, which ends with the process. Call it before anything that opens connections, so
 * that they close first.
 *
 * @param file undefined without the option: then nothing is loaded and nothing is observed.
 * @param target what is recorded, to show to users.
 * @throws Failure with code 2 if the file cannot be written.
 */
export async function startRecording(file: string | undefined, target: string): Promise<Wiretap | undefined> {
  if (file === undefined) return undefined;
  const { Capture } = await import('../inspect/index.ts');
  const capture = new Capture();
  await record(capture, file, target);
  return capture;
}

/** What to do with what passes. */
export interface Observation {
  /** What is observed, to show to users. */
  readonly target: string;
  /** The file to record to. */
  readonly file?: string | undefined;
  /** Where to serve a page that shows it, and the option that says so. */
  readonly page?: { readonly port: number; readonly portOption: string } | undefined;
  /** Breakpoints that the page can set. */
  readonly breakpoints?: Breakpoints | undefined;
  /** Prints the address of the page. */
  readonly onpage?: ((url: URL) => void) | undefined;
}

/**
 * Records like `startRecording`, and serves a page, in a thread of its own. For servers: a short command would wait for
 * the thread to start. Undefined if there is neither a file nor a page.
 *
 * @throws Failure with code 2 if the file cannot be written, or the port cannot be used.
 */
export async function observe({ target, file, page, breakpoints, onpage }: Observation): Promise<Wiretap | undefined> {
  if (file === undefined && page === undefined) return undefined;
  const { startCaptureWorker } = await import('../inspect/worker/capture-worker.ts');
  const served = page && { port: page.port, folder: pageFolder() };
  const starting = startCaptureWorker({ target, file, page: served, breakpoints, onerror });
  const { wiretap, url } = await untilEnd(starting, page?.portOption);
  if (url !== undefined) onpage?.(new URL(url));
  return wiretap;
}

/** The folder of the built page of the inspector. */
export function pageFolder(): string {
  return built('page');
}

/** Records a capture to a file until the process ends. @throws Failure with code 2 if the file cannot be written. */
export async function record(capture: Capture, file: string, target: string): Promise<void> {
  const { recordToFile } = await import('../inspect/index.ts');
  await untilEnd(recordToFile(capture, file, { target, onerror }));
}

/** Whether the requested recording is incomplete. */
let incomplete = false;

function onerror({ message }: Error): void {
  incomplete = true;
  printStatus(message);
}

/** @param portOption the option of the port that is used, if there is one. */
async function untilEnd<T extends { close(): Promise<void> }>(starting: Promise<T>, portOption?: string): Promise<T> {
  try {
    const recording = await starting;
    atEnd(async () => {
      await recording.close();
      if (incomplete) process.exitCode ||= ExitCode.Refused;
    });
    return recording;
  } catch (error) {
    const { message } = error as Error;
    throw Failure.usage(`${message.startsWith('port ') ? portOption : '--record'}: ${message}`);
  }
}
