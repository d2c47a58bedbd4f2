import { createBridge } from '../../bridge/bridge.ts';
import type { Service } from '../../core/exchange.ts';
import type { Transport } from '../../transport/transport.ts';
import { ServerProcess, type ServerProcessOptions } from './server-process.ts';

/**
 * One version of the user's file: a process, and a bridge to it. All clients share the process, as they would share a
 * server that listens, and each client has its own connection to it. If the process exits, the next request starts
 * another.
 */
export class Version {
  /** Part of the ids that clients get, so that these come back to this version. */
  readonly label: string;
  readonly service: Service;
  readonly #options: ServerProcessOptions;
  readonly #close: () => Promise<void>;
  #process: ServerProcess;
  #closed = false;

  /** @param onerror gets what cannot be returned to a client, such as the end of the process. */
  constructor(label: string, options: ServerProcessOptions, onerror: (error: Error) => void) {
    this.label = label;
    this.#options = options;
    this.#process = new ServerProcess(options);
    const bridge = createBridge({
      target: () => this.open(),
      anonymous: 'same-user',
      onerror: (error) => {
        if (!this.#closed) onerror(error);
      },
    });
    this.service = bridge.service;
    this.#close = () => bridge.close();
  }

  /** Resolves when the file is loaded. Rejects with the reason if it cannot be served. */
  get ready(): Promise<void> {
    return this.#process.ready;
  }

  /** Opens a connection to the server. */
  open(): Transport {
    if (this.#process.ended && !this.#closed) this.#process = new ServerProcess(this.#options);
    return this.#process.open();
  }

  /** Ends the process. Requests in flight fail. */
  async close(): Promise<void> {
    this.#closed = true;
    // A process in an endless loop could not close its connections.
    await Promise.all([this.#process.stop(), this.#close()]);
  }
}
