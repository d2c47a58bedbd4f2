import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Answer, Order } from './clients/load.ts';
import { median } from './sample.ts';
import { stop, track } from './processes.ts';

/**
 * What a client connects to: an address or the words of a command. Undefined for streams to a server in the client's
 * own process.
 */
export type ClientTarget = string | readonly string[] | undefined;

/** A client in its own process, connected to a server. */
export class ClientLoad {
  readonly #child: ChildProcess;
  readonly #rates: number[] = [];
  readonly #costs: number[] = [];
  readonly #connects: number[] = [];

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(name: string, target: ClientTarget): Promise<ClientLoad> {
    const script = fileURLToPath(new URL(`clients/${name}.js`, import.meta.url));
    const child = track(
      spawn(process.execPath, ['--expose-gc', '--no-warnings', script, ...argumentsOf(target)], {
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      }),
    );
    const exited = once(child, 'exit').then(([code]) => {
      throw new Error(`${name} exited with ${String(code)}`);
    });
    exited.catch(() => {});
    await Promise.race([once(child, 'message'), exited]);
    return new ClientLoad(child);
  }

  /** Calls for the given time, with the given number of calls in flight. */
  async load(seconds: number, inFlight: number, counts = true): Promise<void> {
    const { perSecond, cpu } = await this.#order({ milliseconds: seconds * 1000, inFlight });
    if (!counts) return;
    this.#rates.push(perSecond!);
    this.#costs.push(cpu!);
  }

  /** Connects and makes one call, as many times as given. */
  async connect(times: number, counts = true): Promise<void> {
    const { connects } = await this.#order({ connects: times });
    if (counts) this.#connects.push(...connects!);
  }

  /** The median of the rounds. */
  get perSecond(): number {
    return median(this.#rates);
  }

  /** Processor time per call, in microseconds. */
  get cpu(): number {
    return median(this.#costs);
  }

  /** Milliseconds from connecting to the result of the first call. */
  get firstCall(): number {
    return median(this.#connects);
  }

  stop(): Promise<void> {
    return stop(this.#child);
  }

  async #order(order: Order): Promise<Answer> {
    this.#child.send(order);
    const [answer] = (await once(this.#child, 'message')) as [Answer];
    return answer;
  }
}

function argumentsOf(target: ClientTarget): string[] {
  if (target === undefined) return ['', 'streams'];
  return typeof target === 'string' ? [target] : [JSON.stringify(target), 'stdio'];
}
