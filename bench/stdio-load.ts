import type { ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { sampled, type Sample } from './sample.ts';

/** A client of a stdio server that keeps a number of calls of `add` in flight and checks every response. */
export class StdioLoad {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  #rest = '';
  #lastId = 0;
  #onlines: (lines: string[]) => void = () => {};
  #onerror: (error: Error) => void = () => {};

  constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#child = child;
    child.stdout.setEncoding('utf8');
    child.stdout.on('data', (chunk: string) => {
      const lines = (this.#rest + chunk).split('\n');
      this.#rest = lines.pop()!;
      if (lines.length > 0) this.#onlines(lines);
    });
    child.stdin.on('error', (error) => this.#onerror(error));
    child.on('close', () => this.#onerror(new Error('The server has ended')));
  }

  async initialize(): Promise<void> {
    const clientInfo = { name: 'bench', version: '1.0.0' };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    this.#write([{ jsonrpc: '2.0', id: 0, method: 'initialize', params }]);
    const [line] = await new Promise<string[]>((resolve, reject) => {
      this.#onlines = resolve;
      this.#onerror = reject;
    });
    if (JSON.parse(line!).result === undefined) throw new Error(`initialize: ${line}`);
    this.#write([{ jsonrpc: '2.0', method: 'notifications/initialized' }]);
  }

  /** The latency of each call. With many calls in flight, most of it is the wait for the others. */
  run(inFlight: number, seconds: number): Promise<Sample> {
    const sent = new Map<number, number>();
    const latencies: number[] = [];
    const started = performance.now();
    const end = started + seconds * 1000;
    return new Promise((resolve, reject) => {
      this.#onerror = reject;
      this.#onlines = (lines) => {
        const now = performance.now();
        for (const line of lines) {
          const { id, result } = JSON.parse(line);
          if (result?.content?.[0]?.text !== String(id + 1) || !sent.has(id))
            return reject(new Error(`tools/call: ${line}`));
          latencies.push(now - sent.get(id)!);
          sent.delete(id);
        }
        if (now < end) this.#call(lines.length, sent);
        else if (sent.size === 0) resolve(sampled(latencies, now - started));
      };
      this.#call(inFlight, sent);
    });
  }

  #call(count: number, sent: Map<number, number>): void {
    const now = performance.now();
    const messages = Array.from({ length: count }, () => {
      const id = ++this.#lastId;
      sent.set(id, now);
      return { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'add', arguments: { a: id, b: 1 } } };
    });
    this.#write(messages);
  }

  #write(messages: readonly object[]): void {
    this.#child.stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
  }
}
