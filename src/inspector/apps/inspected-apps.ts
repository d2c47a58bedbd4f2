import { CommandRefused } from '../../inspect/page-server/command-refused.ts';
import type { AppCommands, AppDocument, AppReports, ServedApp } from '../../inspect/page-server/apps-api.ts';
import type { ConnectionTap, Wiretap } from '../../transport/wiretap.ts';
import type { AppServer } from './app-server.ts';

/** The apps that the page shows: their documents, and their messages as a connection of its own in the records. */
export class InspectedApps {
  readonly #server: AppServer | undefined;
  readonly #wiretap: Wiretap;
  readonly #onchange: (reports: readonly AppReports[]) => void;
  readonly #taps = new Map<number, ConnectionTap>();
  readonly #reports = new Map<number, AppReports>();

  /** @param server undefined if no apps can be shown. */
  constructor(server: AppServer | undefined, wiretap: Wiretap, onchange: (reports: readonly AppReports[]) => void) {
    this.#server = server;
    this.#wiretap = wiretap;
    this.#onchange = onchange;
    if (!server) return;
    server.onreports = (reports) => {
      this.#reports.set(reports.id, reports);
      this.#changed();
    };
    server.onclose = (id) => {
      this.#taps.get(id)?.close();
      this.#taps.delete(id);
      if (this.#reports.delete(id)) this.#changed();
    };
  }

  /**
   * Serves an app.
   *
   * @param from identifies the server that it comes from.
   */
  serve(from: string, document: AppDocument): ServedApp {
    if (!this.#server) throw new CommandRefused(409, 'This inspector shows no apps.');
    const app = this.#server.serve(from, document);
    this.#taps.set(app.id, this.#wiretap.open({ protocol: 'app', role: 'server', peer: document.uri }));
    return app;
  }

  close(id: number): void {
    this.#server?.close(id);
  }

  record({ id, messages }: Parameters<AppCommands['recordApp']>[0]): void {
    const tap = this.#taps.get(id);
    for (const { from, text } of messages) tap?.bytes(from === 'app' ? 'c>s' : 's>c', Buffer.from(`${text}\n`));
  }

  /** Closes all, because the connection to their server has ended. */
  closeAll(): void {
    for (const id of this.#taps.keys()) this.close(id);
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }

  #changed(): void {
    this.#onchange([...this.#reports.values()]);
  }
}
