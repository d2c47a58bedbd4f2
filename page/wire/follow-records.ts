import { signal, type ReadonlySignal } from '@preact/signals';
import { RefusedError, type Server } from '../server/server.ts';
import type { RecordStore } from './record-store.ts';
import { readLine } from './wire-record.ts';

/** Where the records come from. */
export interface FollowedRecords {
  /** When the capture began. Undefined as long as nothing came. */
  readonly started: ReadonlySignal<Date | undefined>;
  /** Changes when records were added. */
  readonly version: ReadonlySignal<number>;
  /** Why no more records arrive, unless the capture has ended. */
  readonly problem: ReadonlySignal<string | undefined>;
}

const RETRY_MS = 2000;

/** Reads records into a store. If the stream breaks, continues after the newest record. */
export function followRecords(server: Server, store: RecordStore): FollowedRecords {
  const started = signal<Date | undefined>(undefined);
  const version = signal(0);
  const problem = signal<string | undefined>(undefined);
  const read = async (): Promise<void> => {
    let isHeader = true;
    for await (const lines of server.records(store.newest)) {
      if (lines.length === 0) continue;
      if (isHeader) started.value = new Date((JSON.parse(lines[0]!) as { started: string }).started);
      store.add(lines.slice(isHeader ? 1 : 0).map(readLine));
      isHeader = false;
      version.value += 1;
    }
  };
  const follow = async (): Promise<void> => {
    for (;;) {
      try {
        await read();
        // The capture is complete.
        return;
      } catch (error) {
        if (error instanceof RefusedError || error instanceof SyntaxError) {
          problem.value = error.message;
          return;
        }
      }
      await new Promise((resolve) => {
        setTimeout(resolve, RETRY_MS);
      });
    }
  };
  void follow();
  return { started, version, problem };
}
