/** An operation of a client, or a fault. */
export interface Operation {
  readonly name: string;
  /** How often it starts. */
  readonly perSecond: number;
  /** Rejects if the outcome is wrong. */
  readonly run: () => Promise<void>;
}

/** Milliseconds after which an operation counts as hanging. */
const LIMIT = 120_000;
/** The most operations at a time. Above it, no new one starts, because the machine is too busy. */
const MAX_RUNNING = 60;
const TICK = 20;

/** Starts operations at a fixed rate, and counts their outcomes. */
export class Load {
  over = 0;
  unexpected = 0;
  /** Operations that did not start because too many were running. */
  heldBack = 0;
  readonly #operations: readonly Operation[];
  readonly #rate: number;
  readonly #due: number[];
  readonly #running = new Set<Promise<void>>();
  /** How often each operation has finished. */
  readonly counts = new Map<string, number>();
  #ticking: ReturnType<typeof setInterval> | undefined;

  /** @param rate operations to start each second, in total. */
  constructor(operations: readonly Operation[], rate: number) {
    this.#operations = operations;
    this.#rate = rate / operations.reduce((sum, { perSecond }) => sum + perSecond, 0);
    this.#due = operations.map((_, index) => index / operations.length);
  }

  begin(): void {
    let last = Date.now();
    this.#ticking = setInterval(() => {
      // Starts that a busy machine missed are not made up for.
      const elapsed = Math.min(Date.now() - last, 5 * TICK) / 1000;
      last = Date.now();
      for (const [index, operation] of this.#operations.entries()) {
        this.#due[index]! += operation.perSecond * this.#rate * elapsed;
        for (; this.#due[index]! >= 1; this.#due[index]! -= 1) this.#start(operation);
      }
    }, TICK);
  }

  /** Starts no more operations. Resolves when all running ones have finished. */
  async pause(): Promise<void> {
    clearInterval(this.#ticking);
    await Promise.all(this.#running);
  }

  #start({ name, run }: Operation): void {
    if (this.#running.size >= MAX_RUNNING) {
      this.heldBack += 1;
      return;
    }
    const running = limited(run)
      .catch((error: unknown) => {
        this.unexpected += 1;
        console.log(`  unexpected, ${name}: ${describe(error)}`);
      })
      .finally(() => {
        this.over += 1;
        this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
        this.#running.delete(running);
      });
    this.#running.add(running);
  }
}

async function limited(run: () => Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout>;
  const hangs = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not over after ${LIMIT / 1000} seconds`)), LIMIT);
  });
  return Promise.race([run(), hangs]).finally(() => clearTimeout(timer));
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return JSON.stringify(error);
  const at = error.stack?.split('\n').find((line) => line.includes('/soak/'));
  const causes: string[] = [];
  for (let { cause } = error; cause instanceof Error; { cause } = cause) causes.push(cause.message.slice(0, 300));
  return `${error.name}: ${error.message.slice(0, 1000)}${causes.map((cause) => ` <- ${cause}`).join('')}${at ?? ''}`;
}
