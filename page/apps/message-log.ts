import type { AppMessage } from '../../src/inspect/page-server/apps-api.ts';
import type { Server } from '../server/server.ts';

/** The most characters that one command carries. */
const MAX_BATCH = 8 * 1024 * 1024;

/** Adds the messages of an app to the records, in their order. */
export class MessageLog {
  readonly #server: Pick<Server, 'send'>;
  readonly #id: number;
  #waiting: AppMessage[] = [];
  #sending = false;
  #isClosed = false;

  constructor(server: Pick<Server, 'send'>, id: number) {
    this.#server = server;
    this.#id = id;
  }

  add(from: AppMessage['from'], text: string): void {
    this.#waiting.push({ from, text });
    if (!this.#sending) void this.#send();
  }

  /** Stops serving the app, after its messages were added. */
  close(): void {
    this.#isClosed = true;
    if (!this.#sending) void this.#send();
  }

  /** One command at a time: the messages that come meanwhile go out with the next. */
  async #send(): Promise<void> {
    this.#sending = true;
    while (this.#waiting.length > 0) {
      let length = 0;
      const tooMany = this.#waiting.findIndex(({ text }) => (length += text.length) > MAX_BATCH);
      const messages = this.#waiting.splice(0, tooMany === -1 ? this.#waiting.length : Math.max(tooMany, 1));
      // If the server is gone, the page says so elsewhere.
      await this.#server.send('recordApp', { id: this.#id, messages }).catch(() => {});
    }
    this.#sending = false;
    if (this.#isClosed) await this.#server.send('closeApp', { id: this.#id }).catch(() => {});
  }
}
