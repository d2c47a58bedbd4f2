import type { Message, Response } from '../jsonrpc/message.ts';
import type { SendOptions, Transport } from '../transport/transport.ts';

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
  #started: Promise<void> | undefined;
  #kept = false;
  /** The last request id of the earlier attempts. */
  #before = 0;

  constructor(transport: Transport) {
    this.#transport = transport;
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
    return this.#transport.send(message, options);
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
    transport.onmessage = (message: Message, extra) => {
      if (!('method' in message) && typeof message.id === 'number' && message.id <= this.#before)
        this.lateResponse = message;
      else this.onmessage?.(message, extra);
    };
    transport.onerror = (error) => this.onerror?.(error);
    transport.onclose = () => {
      this.closed = true;
      this.onclose?.();
    };
    return transport.start();
  }
}
