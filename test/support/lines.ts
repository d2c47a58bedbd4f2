import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/**
 * Cuts bytes into lines. A line ends with a line feed, with or without a carriage return before it: `readline` of Node
 * 24 ends lines at U+2028 and U+2029 too, which may be inside a message.
 */
class Cutter {
  readonly #decoder = new StringDecoder('utf8');
  #begun: string[] = [];

  /** The lines that end in this chunk. */
  push(chunk: Buffer): string[] {
    const [first = '', ...others] = this.#decoder.write(chunk).split('\n');
    this.#begun.push(first);
    return others.map((next) => {
      const line = this.#take();
      this.#begun.push(next);
      return line;
    });
  }

  /** The last line, if it has no line feed. */
  end(): string[] {
    return this.#begun.some((text) => text !== '') ? [this.#take()] : [];
  }

  #take(): string {
    const line = this.#begun.join('');
    this.#begun = [];
    return line.endsWith('\r') ? line.slice(0, -1) : line;
  }
}

/** Calls back for each line of a stream. */
export function onLine(stream: Readable, online: (line: string) => void): void {
  const cutter = new Cutter();
  stream.on('data', (chunk: Buffer) => {
    for (const line of cutter.push(chunk)) online(line);
  });
  stream.on('end', () => {
    for (const line of cutter.end()) online(line);
  });
}

/** The lines of a stream. A caller that stops early ends the stream. */
export async function* linesOf(stream: Readable): AsyncGenerator<string, void> {
  const cutter = new Cutter();
  for await (const chunk of stream) yield* cutter.push(chunk as Buffer);
  yield* cutter.end();
}
