import { closeSync, existsSync, openSync, readdirSync, readSync } from 'node:fs';
import path from 'node:path';

/**
 * What clients and handlers have observed. A fact is about a call (`c12-7`) or a session (`c12@3`) of one client; its name
 * begins the id. `at` is the time of the machine in milliseconds, which all processes share.
 */
export type Fact = { readonly at: number; readonly about: string } & (
  | {
      readonly what: 'sent';
      readonly tool: string;
      /** Milliseconds within which it must end. */
      readonly bound: number;
      /** Whether the client sees all events. Libraries hide some of them. */
      readonly wire: boolean;
      /** Whether the client resumes streams for as long as it waits. */
      readonly resumes: boolean;
    }
  | Ended
  /** Progress or a log message, `of` the call that the handler had. */
  | { readonly what: 'step'; readonly of: string; readonly n: number }
  /** An event with an id: the stream, and its number. */
  | { readonly what: 'event'; readonly stream: string; readonly n: number }
  /** The server said that events are lost. */
  | { readonly what: 'gap'; readonly why: string }
  | { readonly what: 'asked'; readonly question: string }
  | { readonly what: 'answered'; readonly question: string; readonly status: number }
  /** A message that is for somebody else. */
  | { readonly what: 'foreign'; readonly message: string }
  | { readonly what: 'opened' }
  | { readonly what: 'deleted' }
  /** The status of a request in a session after its DELETE had succeeded. */
  | { readonly what: 'used'; readonly status: number }
  /** The server did not know the session, though it was not deleted. */
  | { readonly what: 'unknown' }
  /** The process that got a request of the call. */
  | { readonly what: 'at'; readonly process: string }
  /**
   * The cancellation that was sent at `since`, and its status if it has one. 202 confirms it. `process` is known for libraries. A
   * client of 2026-07-28 closes its connection, which needs no confirmation.
   */
  | {
      readonly what: 'cancelled';
      readonly since: number;
      readonly process: string | undefined;
      readonly status: number | undefined;
    }
  /** The log level of the session that the server has confirmed at `since`. */
  | { readonly what: 'level'; readonly level: string; readonly since: number }
  /** A process has begun to send a stream of changes. */
  | { readonly what: 'listening'; readonly process: string }
  /** A call at a process has changed a list or resource. It was sent at `since`. */
  | { readonly what: 'changed'; readonly thing: string; readonly since: number; readonly process: string }
  /** The server said that a list or resource has changed. */
  | { readonly what: 'heard'; readonly thing: string }
  /** A stream of changes has ended. `left`: by its client. */
  | { readonly what: 'closed'; readonly why: 'left' | 'lost' | 'ended' | 'refused'; readonly text: string }
  // What handlers write, before they go on.
  | { readonly what: 'run'; readonly run: string; readonly process: string; readonly tool: string }
  /** A handler has sent a step. `ok`: the transport has accepted it. */
  | { readonly what: 'emitted'; readonly run: string; readonly n: number; readonly ok: boolean }
  | { readonly what: 'asks'; readonly run: string; readonly process: string; readonly question: string }
  | { readonly what: 'got'; readonly run: string; readonly question: string; readonly answer: string }
  | { readonly what: 'done'; readonly run: string; readonly how: 'returned' | 'aborted' | 'failed' }
  /** A handler has logged a message of this level. */
  | { readonly what: 'logged'; readonly run: string; readonly n: number; readonly level: string }
  /** The process could not run since `from`. */
  | { readonly what: 'starved'; readonly process: string; readonly from: number }
  /** A child of a bridge has counted a call of a session. */
  | { readonly what: 'counted'; readonly child: number; readonly process: string; readonly n: number }
);

/** `starved`: the machine was too busy for a process. */
const TROUBLES = [
  'killed',
  'suspended',
  'stopped',
  'starved',
  'redis lost its data',
  'redis is unreachable',
  'redis is slow',
] as const;

/** How a call has ended for its client. */
export interface Ended {
  readonly at: number;
  readonly about: string;
  readonly what: 'ended';
  /**
   * `result` and `error` came as messages; `refused` is an HTTP status; `lost`: the connection broke, and the revision has no
   * way to go on; `cancelled` by the client; `timeout`: nothing came; `silent`: the server says that all was sent.
   */
  readonly how: 'result' | 'error' | 'refused' | 'lost' | 'cancelled' | 'timeout' | 'silent';
  /** The text of the result, or of the error. */
  readonly text: string;
  /** Whether the error says that the call certainly did not run. */
  readonly notRun: boolean;
}

/** What happened to the processes and to Redis. `until` is infinite while it lasts. */
export interface Trouble {
  readonly what: (typeof TROUBLES)[number];
  /** The process. Undefined if all are affected. */
  readonly process: string | undefined;
  readonly from: number;
  until: number;
}

export interface Subject {
  readonly about: string;
  /** In the order of their times. */
  readonly facts: readonly Fact[];
}

export type FactOf<What extends Fact['what']> = Extract<Fact, { what: What }>;

export function all<What extends Fact['what']>({ facts }: Subject, what: What): FactOf<What>[] {
  return facts.filter((fact): fact is FactOf<What> => fact.what === what);
}

/** All troubles of a run. */
export class Troubles {
  readonly list: Trouble[] = [];

  /** @returns ends it. */
  begin(what: Trouble['what'], process?: string): () => void {
    const trouble = { what, process, from: Date.now(), until: Number.POSITIVE_INFINITY };
    this.list.push(trouble);
    return () => void (trouble.until = Date.now());
  }

  /** Something that happens at once. */
  happened(what: Trouble['what'], process?: string): void {
    this.begin(what, process)();
  }

  /** The troubles of some kinds that overlap a time. */
  during(from: number, until: number, ...kinds: readonly Trouble['what'][]): Trouble[] {
    return this.list.filter((each) => kinds.includes(each.what) && each.from <= until && each.until >= from);
  }

  /** The troubles of any kind that overlap a time. @param processes those to which they happened. Default: any. */
  near(from: number, until: number, processes?: ReadonlySet<string>): Trouble[] {
    return this.during(from, until, ...TROUBLES).filter(
      ({ process }) => !processes || process === undefined || processes.has(process),
    );
  }

  /** When something that begins now is over, if it takes at most `bound` milliseconds without trouble. May be infinite. */
  calmAfter(at: number, bound: number, processes?: ReadonlySet<string>): number {
    let end = at + bound;
    for (let last = at; last < Number.POSITIVE_INFINITY; end = last + bound) {
      const next = Math.max(...this.near(end - bound, end, processes).map(({ until }) => until));
      if (next <= last) break;
      last = next;
    }
    return end;
  }
}

/** Collects facts until their subjects are settled. Each handler process writes its facts to a file of a folder. */
export class History {
  readonly #folder: string;
  readonly #troubles: Troubles;
  readonly #subjects = new Map<string, Fact[]>();
  readonly #read = new Map<string, { at: number; rest: string }>();
  /** How many facts there were. */
  count = 0;

  constructor(folder: string, troubles: Troubles) {
    this.#folder = folder;
    this.#troubles = troubles;
  }

  add(fact: Fact): void {
    this.count += 1;
    const known = this.#subjects.get(fact.about);
    if (known) known.push(fact);
    else this.#subjects.set(fact.about, [fact]);
  }

  /** Reads what handlers have written since the last time. */
  readHandlers(): void {
    if (!existsSync(this.#folder)) return;
    const buffer = Buffer.alloc(1024 * 1024);
    for (const name of readdirSync(this.#folder)) {
      const place = this.#read.get(name) ?? { at: 0, rest: '' };
      this.#read.set(name, place);
      const file = openSync(path.join(this.#folder, name), 'r');
      for (let bytes = 1; bytes > 0; place.at += bytes) {
        bytes = readSync(file, buffer, 0, buffer.length, place.at);
        const lines = (place.rest + buffer.toString('latin1', 0, bytes)).split('\n');
        // A process that was killed may have written half a line.
        place.rest = lines.pop()!;
        for (const line of lines) this.#take(JSON.parse(line) as Fact);
      }
      closeSync(file);
    }
  }

  #take(fact: Fact): void {
    if (fact.what === 'starved') {
      const { process, from, at } = fact;
      this.#troubles.list.push({ what: 'starved', process, from, until: at });
    } else this.add(fact);
  }

  /** Removes and returns the subjects about which nothing new was heard since a time. */
  settle(before: number): Subject[] {
    const settled: Subject[] = [];
    for (const [about, facts] of this.#subjects) {
      const last = Math.max(...facts.map(({ at }) => at));
      const isOver = facts.some(({ what }) => LAST.has(what));
      if (last + (isOver ? 0 : Math.max(0, ...facts.map(lifetimeOf))) >= before) continue;
      this.#subjects.delete(about);
      settled.push({ about, facts: facts.toSorted((a, b) => a.at - b.at) });
    }
    return settled;
  }
}

/** What comes when nothing new begins. */
const LAST: ReadonlySet<Fact['what']> = new Set(['ended', 'deleted', 'unknown', 'closed']);
/** A session may be silent for some time. Milliseconds. */
const SESSION = 600_000;

/** How long more facts may come after one. Milliseconds. */
function lifetimeOf(fact: Fact): number {
  if (fact.what === 'sent') return fact.bound;
  return fact.about.includes('@') ? SESSION : 0;
}
