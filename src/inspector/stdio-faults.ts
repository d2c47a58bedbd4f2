import type { Writable } from 'node:stream';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import type { Breakpoints } from '../inspect/breakpoints/breakpoints.ts';
import { usePlainWrite } from '../transport/plain-write.ts';
import type { Transport } from '../transport/transport.ts';
import { ExpectedFaults } from './response-faults.ts';
import { corrupted } from './corrupted.ts';

type Written = (error?: Error | null) => void;

/** Makes faults in the responses of a stdio server, by the rules of the user. */
export class StdioFaults {
  readonly #expected: ExpectedFaults;
  readonly #write: (bytes: Buffer | string, written: Written) => boolean;
  readonly #oncut: () => void;
  #isCut = false;

  /**
   * Create it before the transport that writes to the output.
   *
   * @param oncut called when the beginning of a response was written, and nothing else is.
   */
  constructor(breakpoints: Breakpoints, output: Writable, oncut: () => void) {
    this.#expected = new ExpectedFaults(breakpoints);
    this.#oncut = oncut;
    usePlainWrite(output);
    const write = output.write.bind(output) as (chunk: Buffer | string, ...rest: unknown[]) => boolean;
    this.#write = write;
    output.write = (chunk: Buffer | string, ...rest: unknown[]): boolean => {
      if (this.#expected.isEmpty && !this.#isCut) return write(chunk, ...rest);
      const written = rest.find((each) => typeof each === 'function') as Written | undefined;
      return this.#disturb(chunk.toString(), written ?? (() => {}));
    };
  }

  /** Looks at what a client sends. */
  listen(transport: Transport): void {
    const { onmessage } = transport;
    transport.onmessage = (message, extra) => {
      this.#expected.hear(message);
      onmessage?.(message, extra);
    };
  }

  /** @param text whole lines. */
  #disturb(text: string, written: Written): boolean {
    const lines: Buffer[] = [];
    for (const each of this.#isCut ? [] : (text.match(/[^\n]*\n/g) ?? [])) {
      const line = Buffer.from(each);
      const fault = this.#expected.take(messageIn(each));
      if (fault?.type === 'cut' && fault.bytes < line.length) {
        this.#isCut = true;
        lines.push(line.subarray(0, fault.bytes));
        return this.#write(Buffer.concat(lines), (error) => {
          written(error);
          this.#oncut();
        });
      }
      lines.push(fault?.type === 'corrupt' ? corrupted(line) : line);
    }
    return this.#write(Buffer.concat(lines), written);
  }
}

function messageIn(line: string): JsonObject {
  const value: unknown = JSON.parse(line);
  return isObject(value) ? value : {};
}
