import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { median } from './sample.ts';
import { stop, track } from './processes.ts';

/** A client in a process of its own, connected to a server. */
export class ClientLoad {
  readonly #child: ChildProcess;
  readonly #rates: number[] = [];

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** @param target an address, or the words of a command. */
  static async start(name: string, target: string | readonly string[]): Promise<ClientLoad> {
    const script = fileURLToPath(new URL(`clients/${name}.js`, import.meta.url));
    const args = typeof target === 'string' ? [target] : [JSON.stringify(target), 'stdio'];
    const child = track(
      spawn(process.execPath, ['--expose-gc', '--no-warnings', script, ...args], {
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

  /** Calls for so long, with so many calls in flight. */
  async load(seconds: number, inFlight: number, counts = true): Promise<void> {
    this.#child.send({ milliseconds: seconds * 1000, inFlight });
    const [{ perSecond }] = (await once(this.#child, 'message')) as [{ perSecond: number }];
    if (counts) this.#rates.push(perSecond);
  }

  get perSecond(): number {
    return median(this.#rates);
  }

  stop(): Promise<void> {
    return stop(this.#child);
  }
}
