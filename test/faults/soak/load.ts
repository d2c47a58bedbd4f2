/** Something that a client does, or that is done to one. */
export interface Operation {
  readonly name: string;
  /** How often it begins. */
  readonly perSecond: number;
  /** Rejects where anything came out otherwise than it should. */
  readonly run: () => Promise<void>;
}

/** Milliseconds after which an operation counts as one that hangs. */
const LIMIT = 120_000;
/** Operations at a time; beyond it none begins, for the machine is too busy. */
const MAX_RUNNING = 60;
const TICK = 20;

/** Begins operations at a fixed rate, and counts what came out of them. */
export class Load {
  over = 0;
  unexpected = 0;
  /** Operations that did not begin because too many were running. */
  heldBack = 0;
  readonly #operations: readonly Operation[];
  readonly #rate: number;
  readonly #due: number[];
  readonly #running = new Set<Promise<void>>();
  /** How often each has been over. */
  readonly counts = new Map<string, number>();
  #ticking: ReturnType<typeof setInterval> | undefined;

  /** @param rate how many operations to begin in a second, all together. */
  constructor(operations: readonly Operation[], rate: number) {
    this.#operations = operations;
    this.#rate = rate / operations.reduce((sum, { perSecond }) => sum + perSecond, 0);
    this.#due = operations.map((_, index) => index / operations.length);
  }

  begin(): void {
    let last = Date.now();
    this.#ticking = setInterval(() => {
      // What a busy machine has missed is not made up for.
      const elapsed = Math.min(Date.now() - last, 5 * TICK) / 1000;
      last = Date.now();
      for (const [index, operation] of this.#operations.entries()) {
        this.#due[index]! += operation.perSecond * this.#rate * elapsed;
        for (; this.#due[index]! >= 1; this.#due[index]! -= 1) this.#start(operation);
      }
    }, TICK);
  }

  /** Begins no more; resolves when all that has begun is over. */
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
