import { signal, type ReadonlySignal } from '@preact/signals';
import type { SaveCommand, SavedCall } from '../../src/inspect/page-server/saved-api.ts';
import type { Server } from '../server/server.ts';
import type { Sent } from './request.ts';

/** The saved calls of the connected server. */
export class SavedList {
  readonly #server: Server;
  readonly #calls = signal<readonly SavedCall[] | undefined>(undefined);
  readonly #problem = signal<string | undefined>(undefined);
  /** The name of the call that is shown. */
  readonly chosen = signal<string | undefined>(undefined);

  constructor(server: Server) {
    this.#server = server;
  }

  /** Undefined until they have been read. */
  readonly calls: ReadonlySignal<readonly SavedCall[] | undefined> = this.#calls;
  /** Why the file cannot be read. */
  readonly problem: ReadonlySignal<string | undefined> = this.#problem;

  /** Reads the file. */
  async load(): Promise<void> {
    try {
      this.#calls.value = await this.#server.send('listSaved', {});
      this.#problem.value = undefined;
    } catch (error) {
      this.#calls.value = [];
      this.#problem.value = (error as Error).message;
    }
  }

  /** @throws Error if it cannot be saved. */
  async save(name: string, { method, params }: Sent, replace: boolean): Promise<void> {
    await this.#server.send('save', { name, method: method as SaveCommand['method'], params, replace });
  }

  /** @throws Error if it cannot be removed. */
  async remove(name: string): Promise<void> {
    await this.#server.send('removeSaved', { name });
  }
}

/** What a saved call calls: the name of a tool or a prompt, or the URI of a resource. */
export function subjectOf({ method, params }: SavedCall): string {
  const subject: unknown = method === 'resources/read' ? params['uri'] : params['name'];
  return typeof subject === 'string' ? subject : '';
}
