import type { Capture } from '../inspect/capture.ts';
import type { Wiretap } from '../transport/wiretap.ts';
import { Failure } from './failure.ts';
import { printStatus } from './print-status.ts';
import { atEnd } from './shutdown.ts';

/**
 * Starts the recording of `--record`, which ends with the process. Call it before anything that opens connections, so
 * that they close first.
 *
 * @param file undefined without the option: then nothing is loaded and nothing is observed.
 * @param target what is recorded, for people.
 * @throws Failure with code 2 if the file cannot be written.
 */
export async function startRecording(file: string | undefined, target: string): Promise<Wiretap | undefined> {
  if (file === undefined) return undefined;
  const { Capture } = await import('../inspect/index.ts');
  const capture = new Capture();
  await record(capture, file, target);
  return capture;
}

/** Like `startRecording`, in a thread of its own. For servers: a short command would wait for the thread to start. */
export async function startRecordingInThread(file: string | undefined, target: string): Promise<Wiretap | undefined> {
  if (file === undefined) return undefined;
  const { startCaptureWorker } = await import('../inspect/worker/capture-worker.ts');
  const { wiretap } = await untilEnd(startCaptureWorker({ record: { file, target }, onerror }));
  return wiretap;
}

/** Records a capture to a file until the process ends. @throws Failure with code 2 if the file cannot be written. */
export async function record(capture: Capture, file: string, target: string): Promise<void> {
  const { recordToFile } = await import('../inspect/index.ts');
  await untilEnd(recordToFile(capture, file, { target, onerror }));
}

function onerror({ message }: Error): void {
  printStatus(message);
}

async function untilEnd<T extends { close(): Promise<void> }>(starting: Promise<T>): Promise<T> {
  try {
    const recording = await starting;
    atEnd(() => recording.close());
    return recording;
  } catch (error) {
    throw Failure.usage(`--record: ${(error as Error).message}`);
  }
}
