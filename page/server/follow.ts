import { signal, type ReadonlySignal, type Signal } from '@preact/signals';
import { inNextTurn } from '../../src/base/next-turn.browser.ts';
import type { InspectorState } from '../../src/inspect/page-server/page-api.ts';
import type { RecordStore } from '../wire/record-store.ts';
import { readLine } from '../wire/wire-record.ts';
import { RefusedError, type Server } from './server.ts';

/** How the page stands to its server. */
export type Link =
  /** There was no state yet. */
  | { readonly status: 'opening' }
  | { readonly status: 'open' }
  /** It does not answer. The page tries again. */
  | { readonly status: 'lost' }
  /** It does not want this page any more. */
  | { readonly status: 'refused'; readonly reason: string };

/** The state and the records of the inspector, as long as they can be followed. */
export interface Followed {
  readonly state: Signal<InspectorState>;
  readonly link: ReadonlySignal<Link>;
  /** When the capture began. Undefined as long as nothing came. */
  readonly started: ReadonlySignal<Date | undefined>;
  /** Changes when records were added. */
  readonly version: ReadonlySignal<number>;
}

const RETRY_MS = 2000;
/** How long lines are added before the page can draw again. Milliseconds. */
const SLICE_MS = 20;

const BEFORE: InspectorState = {
  role: 'observer',
  choices: [],
  connection: { status: 'idle', attempts: [], stderr: [] },
  running: [],
  questions: [],
  roots: [],
  subscriptions: [],
};

/** Follows the server. When it cannot be reached, tries again, and goes on after the newest record. */
export function follow(server: Server, store: RecordStore): Followed {
  const state = signal(BEFORE);
  const link = signal<Link>({ status: 'opening' });
  const started = signal<Date | undefined>(undefined);
  const version = signal(0);
  const add = (lines: readonly string[]): void => {
    const records: string[] = [];
    let newest: string | undefined;
    let closed: string | undefined;
    for (const line of lines) {
      if (line.startsWith('{"n":')) records.push(line);
      else if (line.startsWith('{"state":')) newest = line;
      else if (line.startsWith('{"mcpcap":'))
        started.value = new Date((JSON.parse(line) as { started: string }).started);
      else if (line.startsWith('{"closed":')) ({ closed } = JSON.parse(line) as { closed: string });
    }
    if (records.length > 0) {
      store.add(records.map(readLine));
      version.value += 1;
    }
    if (closed !== undefined) throw new RefusedError(closed);
    if (newest === undefined) return;
    state.value = (JSON.parse(newest) as { state: InspectorState }).state;
    server.finish(state.value.finished ?? []);
    if (link.value.status !== 'open') link.value = { status: 'open' };
  };
  const run = async (): Promise<void> => {
    for (;;) {
      try {
        let until = performance.now() + SLICE_MS;
        for await (const lines of server.stream(store.newest)) {
          add(lines);
          // As long as lines are ready, they come without a turn of the event loop.
          if (performance.now() < until) continue;
          await new Promise<void>(inNextTurn);
          until = performance.now() + SLICE_MS;
        }
      } catch (error) {
        if (error instanceof RefusedError || error instanceof SyntaxError) {
          server.streamEnded(error.message);
          link.value = { status: 'refused', reason: error.message };
          return;
        }
      }
      server.streamEnded();
      link.value = { status: 'lost' };
      await new Promise((resolve) => {
        setTimeout(resolve, RETRY_MS);
      });
    }
  };
  void run();
  return { state, link, started, version };
}
