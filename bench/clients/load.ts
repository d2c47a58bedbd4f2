/** One round trip of a client; the number is different each time. */
export type Call = (n: number) => Promise<void>;

const [url = '', mode = ''] = process.argv.slice(2);

/** Where the server is: an address, or the words of a command. */
export const target = url;
export const overStdio = mode === 'stdio';
/** The words of the command that starts the server. */
export const command = (): [string, ...string[]] => JSON.parse(url) as [string, ...string[]];

/**
 * Runs a client for the bench: each message from it is for how many milliseconds to call, and how many calls to keep in
 * flight. Answers with the number of calls made.
 */
export function run(call: Call): void {
  let n = 0;
  process.on('disconnect', () => process.exit());
  process.on('message', ({ milliseconds, inFlight }: { milliseconds: number; inFlight: number }) => {
    const before = n;
    const started = performance.now();
    const end = started + milliseconds;
    const loop = async (): Promise<void> => {
      while (performance.now() < end) await call((n += 1));
    };
    void Promise.all(Array.from({ length: inFlight }, loop)).then(() => {
      globalThis.gc?.();
      const memory = process.memoryUsage().heapUsed;
      process.send!({ perSecond: ((n - before) * 1000) / (performance.now() - started), memory });
    });
  });
  process.send!({ ready: true });
}

export function expectSum(text: string | undefined, n: number): void {
  if (text !== String(n + 1)) throw new Error(`add(${n}, 1) gave ${text}`);
}
