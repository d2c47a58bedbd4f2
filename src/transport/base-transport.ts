import type { Message } from '../jsonrpc/message.ts';
import type { MessageExtra, Transport } from './transport.ts';

/** The callbacks of a transport. What they throw goes to `onerror`. */
export abstract class BaseTransport implements Pick<Transport, 'onmessage' | 'onclose' | 'onerror'> {
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];

  protected callOnmessage(message: Message, extra?: MessageExtra): void {
    try {
      this.onmessage?.(message, extra);
    } catch (error) {
      this.report(error as Error);
    }
  }

  /** Runs any other code of the owner. */
  protected guard(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.onerror?.(error as Error);
    }
  }

  protected report(error: Error): void {
    this.onerror?.(error);
  }
}
