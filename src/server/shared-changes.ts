import { UntilDone } from '../base/until-done.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import type { Bus } from '../store/bus.ts';

/** The kind of the messages on the bus. */
const KIND = 'changes';
/** The most resources in one message. If more have changed since the message before, all of them count as changed. */
const MAX_URIS = 1000;
/** The most characters of them. */
const MAX_CHARS = 256 * 1024;

/** What has changed: lists by their names, and resources by their URIs. */
export interface Changes {
  readonly lists: readonly string[];
  readonly uris: readonly string[] | 'all';
}

/**
 * Tells the other processes of a server what has changed here, and this one what has changed there.
 *
 * One message is on its way at a time. What changes meanwhile is the next one, so many changes make few messages.
 */
export class SharedChanges {
  readonly #bus: Bus;
  readonly #server: string;
  readonly #stop: () => void;
  readonly #telling: UntilDone;
  readonly #lists = new Set<string>();
  readonly #uris = new Set<string>();
  #chars = 0;
  /** Whether more resources have changed than one message may name. */
  #all = false;

  /**
   * @param server the name that the processes of one server have in common.
   * @param hear gets what has changed at another process.
   */
  constructor(bus: Bus, server: string, hear: (changes: Changes) => void, onerror: (error: Error) => void) {
    this.#bus = bus;
    this.#server = server;
    this.#telling = new UntilDone(
      () => this.#tell(),
      (cause) => onerror(new Error('Other processes do not know yet what has changed', { cause })),
    );
    this.#stop = bus.on(KIND, (body) => {
      if (body['server'] !== server) return false;
      hear({ lists: textsIn(body['lists']), uris: body['uris'] === 'all' ? 'all' : textsIn(body['uris']) });
      return true;
    });
  }

  /** A list has changed here. */
  listChanged(kind: string): void {
    this.#lists.add(kind);
    this.#telling.ask();
  }

  /** A resource has changed here. */
  resourceUpdated(uri: string): void {
    this.#add(uri);
    this.#telling.ask();
  }

  /** Neither tells nor hears anything more. */
  close(): void {
    this.#telling.close();
    this.#stop();
  }

  #add(uri: string): void {
    if (this.#all || this.#uris.has(uri)) return;
    this.#uris.add(uri);
    this.#chars += uri.length;
    if (this.#uris.size > MAX_URIS || this.#chars > MAX_CHARS) this.#all = true;
    if (this.#all) this.#uris.clear();
  }

  async #tell(): Promise<void> {
    const changes = this.#take();
    try {
      await this.#bus.sendToAll(KIND, { server: this.#server, ...changes });
    } catch (error) {
      this.#restore(changes);
      throw error;
    }
  }

  #take(): Changes {
    const changes = { lists: [...this.#lists], uris: this.#all ? ('all' as const) : [...this.#uris] };
    this.#lists.clear();
    this.#uris.clear();
    this.#chars = 0;
    this.#all = false;
    return changes;
  }

  #restore({ lists, uris }: Changes): void {
    for (const kind of lists) this.#lists.add(kind);
    if (uris === 'all') this.#all = true;
    else for (const uri of uris) this.#add(uri);
  }
}

function textsIn(value: JsonObject[string]): string[] {
  return Array.isArray(value) ? value.filter((text) => typeof text === 'string') : [];
}
