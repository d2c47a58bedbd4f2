import { PassThrough, type Readable, type Writable } from 'node:stream';
import { answer } from '../peers/bare-answer.ts';

/** A connected client. */
interface Connected {
  /** One round trip. The number is different each time. */
  call(n: number): Promise<void>;
  close(): Promise<void>;
}

/** What the benchmark asks a client to do. */
export type Order =
  /**
   * Call for the given time, with the given number of calls in flight. The reply has `perSecond`, and `cpu` in
   * microseconds per call.
   */
  | { readonly milliseconds: number; readonly inFlight: number }
  /** Connect and make one call, as many times as given. The reply has `connects`: the milliseconds that each took. */
  | { readonly connects: number };

export interface Answer {
  readonly perSecond?: number;
  readonly cpu?: number;
  readonly connects?: readonly number[];
}

const [url = '', mode = ''] = process.argv.slice(2);

/** Where the server is: an address, or the words of a command. */
export const target = url;
export const overStdio = mode === 'stdio';
/** Messages over streams to a server in this process. */
export const overStreams = mode === 'streams';
/** The command that starts the server, as words. */
export const command = (): [string, ...string[]] => JSON.parse(url) as [string, ...string[]];

/** The client's ends of two pipes that lead to a bare server in this process. */
export function streams(): { input: Readable; output: Writable } {
  const input = new PassThrough();
  const output = new PassThrough({ encoding: 'utf8' });
  let rest = '';
  output.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    for (const line of lines) {
      const result = answer(JSON.parse(line));
      if (result !== undefined) input.write(`${JSON.stringify(result)}\n`);
    }
  });
  output.on('end', () => input.end());
  return { input, output };
}

/** Runs a client for the benchmark, which sends one order after another. The client exits when the benchmark does. */
export async function run(open: () => Promise<Connected>): Promise<void> {
  // Over streams, only connecting is measured.
  const connected = overStreams ? undefined : await open();
  let n = 0;
  const load = async (milliseconds: number, inFlight: number): Promise<Answer> => {
    const before = n;
    const cpu = process.cpuUsage();
    const started = performance.now();
    const end = started + milliseconds;
    const loop = async (): Promise<void> => {
      while (performance.now() < end) await connected!.call((n += 1));
    };
    await Promise.all(Array.from({ length: inFlight }, loop));
    const elapsed = performance.now() - started;
    const { user, system } = process.cpuUsage(cpu);
    globalThis.gc?.();
    return { perSecond: ((n - before) * 1000) / elapsed, cpu: (user + system) / (n - before) };
  };
  const connect = async (count: number): Promise<Answer> => {
    const connects: number[] = [];
    for (let done = 0; done < count; done += 1) {
      const started = performance.now();
      const client = await open();
      await client.call((n += 1));
      connects.push(performance.now() - started);
      await client.close();
    }
    return { connects };
  };
  process.on('disconnect', () => process.exit());
  process.on('message', (order: Order) => {
    const answered = 'connects' in order ? connect(order.connects) : load(order.milliseconds, order.inFlight);
    void answered.then((result) => process.send!(result));
  });
  process.send!({ ready: true });
}

export function expectSum(text: string | undefined, n: number): void {
  if (text !== String(n + 1)) throw new Error(`add(${n}, 1) gave ${text}`);
}
