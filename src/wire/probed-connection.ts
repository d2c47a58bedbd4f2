import { waitFor, type WaitLimits } from '../base/wait.ts';
import type { Message, Response } from '../jsonrpc/message.ts';
import { checkMessage, type InvalidMessage } from '../jsonrpc/parse.ts';
import type { MessageExtra, SendOptions, Transport } from '../transport/transport.ts';

/**
 * One connection on which the eras are tried one after the other. Each attempt sets the callbacks, starts the transport
 * and may close it. The underlying transport is started only once, and closed only after `keep`.
 */
export class ProbedConnection implements Transport {
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  /** The last request id that was used. */
  lastId = 0;
  closed = false;
  /** The newest response to a request of an earlier attempt. It must not be used as the response to another request. */
  lateResponse: Response | undefined;
  readonly #transport: Transport;
  readonly #startLimits: () => WaitLimits;
  #started: Promise<void> | undefined;
  #kept = false;
  /** The last request id of the earlier attempts. */
  #before = 0;

  /** @param startLimits how long the transport may take to start. */
  constructor(transport: Transport, startLimits: () => WaitLimits) {
    this.#transport = transport;
    this.#startLimits = startLimits;
  }

  get closeReason(): Error | undefined {
    return this.#transport.closeReason;
  }

  start(): Promise<void> {
    if (this.closed) return Promise.reject(this.closeReason ?? new Error('The connection is closed'));
    this.#before = this.lastId;
    return (this.#started ??= this.#start());
  }

  send(message: Message, options?: SendOptions): Promise<void> {
    if ('method' in message && 'id' in message) this.lastId = message.id as number;
    try {
      return this.#transport.send(message, options);
    } catch (error) {
      // Senders only handle a promise that rejects.
      return Promise.reject(error);
    }
  }

  /** The newest attempt has succeeded. From now on `close` closes the transport. */
  keep(): void {
    this.#kept = true;
  }

  close(): Promise<void> {
    return this.#kept ? this.#transport.close() : Promise.resolve();
  }

  setProtocolVersion(version: string): void {
    this.#transport.setProtocolVersion?.(version);
  }

  #start(): Promise<void> {
    const transport = this.#transport;
    transport.onmessage = (message, extra) => this.#check(message, extra);
    transport.onerror = (error) => this.onerror?.(error);
    transport.onclose = () => {
      this.closed = true;
      this.onclose?.();
    };
    return waitFor(transport.start(), this.#startLimits());
  }

  /** A transport of an application may deliver anything. */
  #check(message: Message, extra: MessageExtra | undefined): void {
    let checked: Message;
    try {
      checked = checkMessage(message);
    } catch (error) {
      this.onerror?.(error as Error);
      // The request must settle: if its response is malformed, deliver an error response instead.
      const { failure } = error as InvalidMessage;
      if (failure) this.#receive(failure, { cause: error as InvalidMessage });
      return;
    }
    this.#receive(checked, extra);
  }

  #receive(message: Message, extra: MessageExtra | undefined): void {
    if (!('method' in message) && typeof message.id === 'number' && message.id <= this.#before)
      this.lateResponse = message;
    else this.onmessage?.(message, extra);
  }
}
