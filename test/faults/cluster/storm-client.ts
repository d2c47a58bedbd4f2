import type { History, Fact, Ended } from './history.ts';
import type { Random } from './random.ts';

export type Written<F> = F extends unknown ? Omit<F, 'at' | 'about'> : never;

/** What all clients of a storm share. */
export interface ClientParts {
  /** Begins the ids of its calls. */
  readonly name: string;
  readonly url: string;
  /** The HTTP+SSE endpoint of some process: this transport cannot change processes. */
  readonly sseUrl: () => string | undefined;
  readonly history: History;
  readonly random: Random;
  /** How long clients rest. 1 is about half a second. */
  readonly pace: number;
  /** Milliseconds within which each call must end. */
  readonly bound: number;
  /** Fires when no new call may begin. */
  readonly over: AbortSignal;
  /** Counts what may stay in Redis. */
  readonly left: { count: number };
  /** The streams of changes that are open, of all clients. */
  readonly open: Set<string>;
}

/** A client that works until the storm is over. */
export abstract class StormClient {
  readonly parts: ClientParts;
  #calls = 0;

  constructor(parts: ClientParts) {
    this.parts = parts;
  }

  /** Resolves when the storm is over, and all calls have ended. */
  abstract live(): Promise<void>;

  get isOver(): boolean {
    return this.parts.over.aborted;
  }

  write(about: string, fact: Written<Fact>): void {
    this.parts.history.add({ at: Date.now(), about, ...fact });
  }

  /** Begins a call. Returns its id. */
  begin(tool: string, wire: boolean, resumes = true): string {
    const about = `${this.parts.name}-${(this.#calls += 1)}`;
    this.write(about, { what: 'sent', tool, bound: this.parts.bound, wire, resumes });
    return about;
  }

  end(about: string, how: Ended['how'], text: string, notRun = false): void {
    this.write(about, { what: 'ended', how, text, notRun });
  }

  /** Writes that a call at a process has changed a list. All streams that were open when it began must hear of it. */
  listChanged(open: ReadonlySet<string>, since: number, process: string): void {
    for (const about of open)
      if (this.parts.open.has(about)) this.write(about, { what: 'changed', thing: 'tools', since, process });
  }

  /** Whether something belongs to this client. */
  isOwn(id: string): boolean {
    const { name } = this.parts;
    return id.startsWith(`${name}-`) || id.startsWith(`storm://${name}`);
  }

  /** Waits, but not beyond the end of the storm. */
  async rest(least: number, most: number): Promise<void> {
    const { over, random, pace } = this.parts;
    await waitOr(pace * random.between(least, most), over);
  }
}

/** Waits, or until a signal fires. */
export function waitOr(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    if (signal.aborted) finish();
    else signal.addEventListener('abort', finish);
  });
}

/** Fires after some milliseconds, or when another signal does. `AbortSignal.timeout` in a combination may never fire. */
export function within(ms: number, signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  void waitOr(ms, signal).then(() => controller.abort());
  return controller.signal;
}

/** The call in a text such as `c12-7/3`, and the number behind it. */
export function stepOf(text: unknown): { readonly of: string; readonly n: number } {
  const [of = '', n = ''] = String(text).split('/');
  return { of, n: Number(n) };
}
