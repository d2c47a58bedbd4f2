import { UntilDone } from '../../../../base/until-done.ts';
import { isRequest, type Message } from '../../../../jsonrpc/message.ts';
import { NotificationMethod } from '../../../../protocol/methods.ts';
import type { NodeId } from '../../../../store/bus.ts';
import type { EventId, EventLog } from '../../../../store/event-log.ts';
import type { OwnStreamPlace, SessionSettings } from '../../../../store/session-store.ts';
import type { EventStream } from './event-stream.ts';
import type { LeftStream, OtherProcesses, SharedSession } from './other-processes.ts';
import type { StoredSession } from './stored-session.ts';
import { STANDALONE } from './stream-ids.ts';

const CHANGES: ReadonlySet<string> = new Set([
  NotificationMethod.ToolsListChanged,
  NotificationMethod.PromptsListChanged,
  NotificationMethod.ResourcesListChanged,
  NotificationMethod.ResourceUpdated,
]);

/** What a session's own stream needs, if several processes use the store. */
export interface OwnStreamParts {
  readonly session: SharedSession;
  readonly stored: StoredSession;
  readonly log: EventLog;
  readonly node: NodeId;
  /** Undefined if the processes pass no messages on. */
  readonly others: OtherProcesses | undefined;
  /** Whether each process hears of all changes, and only the reader passes them on. */
  readonly sharesChanges: boolean;
  /** Milliseconds after which a client may read the stream elsewhere. */
  readonly retry: number;
  /** Whether the session was opened here, so that its client reads the stream here until it does elsewhere. */
  readonly opened: boolean;
  /** Where the stream is, as other processes have stored it. */
  readonly place: OwnStreamPlace | undefined;
  /** Makes the stream, which begins after `start`. */
  readonly create: (start: EventId) => EventStream;
  /** Called if this process is the reader now, and nobody was: the client may have missed changes. */
  readonly onlost: (settings: SessionSettings) => void;
  readonly onerror: (error: Error) => void;
}

/**
 * The own stream of a session (GET), if several processes use the store. All of them write it. One of them is the reader:
 * it passes the events on to the client. The session in the store says which one. A GET at another process makes that one
 * the reader.
 */
export class OwnStream {
  readonly #parts: OwnStreamParts;
  /** Tells the reader that there are new events. */
  readonly #hints: UntilDone;
  #stream: Promise<EventStream> | undefined;
  #opened: EventStream | undefined;
  #isReader: boolean;
  #claiming: Promise<void> | undefined;
  /** Settles when the store knows that this process is the reader. */
  #storing: Promise<unknown> | undefined;
  #closed = false;

  constructor(parts: OwnStreamParts) {
    this.#parts = parts;
    this.#isReader = parts.opened;
    this.#hints = new UntilDone(
      () => this.#hint(),
      (error) => parts.onerror(error as Error),
    );
  }

  /** Whether the client reads the stream at this process. */
  get isRead(): boolean {
    return this.#opened?.isRead ?? false;
  }

  /**
   * Resolves when the message is in the log, and the connection, if it is here, can take more. If each process hears of a
   * change, only the reader sends it.
   */
  async send(message: Message): Promise<void> {
    const { sharesChanges, others } = this.#parts;
    if (!this.#isReader && sharesChanges && others && isChange(message)) return;
    const stream = await this.#begin();
    await stream.send(message);
    if (!this.#isReader && others) this.#hints.ask();
  }

  /**
   * Makes this process the reader. Resolves when the former one has stopped.
   *
   * @param lastEventId the last event that the client has got, if it names one.
   */
  async claim(lastEventId: EventId | undefined): Promise<EventStream> {
    const stream = await this.#begin();
    // It is the reader before the former one has stopped, but does not know yet where that one has.
    if (!this.#isReader || this.#claiming) {
      this.#claiming ??= this.#claim(stream, lastEventId).finally(() => (this.#claiming = undefined));
      await this.#claiming;
    }
    return stream;
  }

  /**
   * Another process is the reader now.
   *
   * @returns undefined if this process was not the reader.
   */
  async release(): Promise<LeftStream | undefined> {
    await this.#storing?.catch(() => {});
    if (!this.#isReader) return undefined;
    this.#isReader = false;
    const after = await this.#opened?.stop(this.#parts.retry);
    return after === undefined ? {} : { after };
  }

  /** There are new events of other processes. Returns whether this process is the reader. */
  readOn(): boolean {
    if (this.#isReader) this.#opened?.readOn();
    return this.#isReader;
  }

  close(): void {
    this.#closed = true;
    this.#hints.close();
  }

  #begin(): Promise<EventStream> {
    return (this.#stream ??= this.#open().catch((error: unknown) => {
      this.#stream = undefined;
      throw error;
    }));
  }

  /** Before a process writes the stream, the store knows where it begins. So no reader overlooks events. */
  async #open(): Promise<EventStream> {
    const { log, stored, node, place, create } = this.#parts;
    const newest = await log.open(stored.id, STANDALONE);
    let start = place?.after;
    if (start === undefined) {
      const settings = await stored.changeOwn((own) => ({ reader: own?.reader ?? node, after: own?.after ?? newest }));
      start = settings?.own?.after ?? newest;
    }
    if (this.#closed) throw new Error('The session is closed');
    return (this.#opened = create(start));
  }

  async #claim(stream: EventStream, lastEventId: EventId | undefined): Promise<void> {
    const { stored, node, onlost } = this.#parts;
    let former: OwnStreamPlace | undefined;
    const storing = stored.changeOwn((own) => {
      former = own;
      const after = lastEventId ?? own?.after;
      return after === undefined ? { reader: node } : { reader: node, after };
    });
    this.#storing = storing;
    const settings = await storing;
    this.#isReader = true;
    const left = await this.#takeOver(former?.reader);
    const start = lastEventId ?? left?.after ?? former?.after;
    if (start !== undefined) stream.startAfter(start);
    if (!left) onlost(settings ?? {});
  }

  /**
   * Resolves when the former reader has stopped. Undefined if there was none.
   *
   * @throws (rejects) if another process may be the reader: the client must ask again.
   */
  async #takeOver(reader: NodeId | undefined): Promise<LeftStream | undefined> {
    const { others, node, session } = this.#parts;
    const isKnown = reader !== undefined && reader !== node;
    try {
      const left = await (isKnown ? others?.takeOver(reader, session) : others?.takeOverFromAny(session));
      if (!this.#isReader) throw new Error('Another process has taken the stream over meanwhile');
      return left;
    } catch (error) {
      this.#isReader = false;
      throw error;
    }
  }

  async #hint(): Promise<void> {
    const { stored, others, node, session } = this.#parts;
    const own = await stored.own();
    if (own && own.reader !== node) await others?.hint(own.reader, session);
  }
}

function isChange(message: Message): boolean {
  return 'method' in message && !isRequest(message) && CHANGES.has(message.method);
}
