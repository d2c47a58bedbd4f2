import type { Readable } from 'node:stream';
import { Deferred } from '../../base/deferred.ts';
import { inShortTurns } from '../../base/short-turns.ts';

/** Reads what arrives, in order. */
export interface PacedSink {
  /** Bytes will be read. What is sent in response to them can be written together. */
  begin(): void;
  /** Reads bytes. Returns whether they contained lines that are not messages. Such a line takes longer than a message. */
  push(bytes: Uint8Array): boolean;
  /** Whether these bytes complete a message that may take long to read. */
  completesLarge(bytes: Uint8Array): boolean;
  /** All is read, and the peer sends nothing more. Called once. */
  end(): void;
  /** Reading has thrown. */
  failed(error: Error): void;
}

/** How many bytes are read at a time. Without lines that are not messages, several slices are read in one turn. */
const SLICE = 8 * 1024;
/**
 * After this many lines, the event loop runs. Otherwise Node would read thousands of small ones from a pipe at once, and
 * a peer that floods would delay all others.
 */
const LINES_PER_TURN = 100;
const NOTHING = new Uint8Array();
const NEWLINE = Buffer.from('\n');

/**
 * Reads a stream in turns of the event loop, so that other connections and timers run meanwhile. What waits keeps its place:
 * Node itself resumes the output of a process that has exited, although it was paused.
 */
export class PacedReader {
  readonly #input: Readable;
  readonly #sink: PacedSink;
  /** The part of the last chunk that was not read yet. */
  #rest: Uint8Array = NOTHING;
  /** While it is set, nothing is read. Resolved when reading goes on. */
  #held: Deferred | undefined;
  /** Whether a turn of the event loop is awaited, and not the peer. */
  #awaitsTurn = false;
  /** Whether somebody else had paused the stream before, and will resume it. */
  #wasPaused = false;
  /** The number of messages and errors since the event loop was last known to run. */
  #lines = 0;
  /** Whether `#lines` is set to 0 when the event loop runs. */
  #turnEnds = false;
  #isOver = false;
  #isStopped = false;

  constructor(input: Readable, sink: PacedSink) {
    this.#input = input;
    this.#sink = sink;
  }

  start(): void {
    const input = this.#input;
    if (input.readableEnded || input.destroyed) process.nextTick(() => this.#over());
    input.on('data', this.#read);
    input.on('end', () => {
      // The last line may have no line end. A stream that breaks may have broken inside a line.
      this.#read(NEWLINE);
      this.#over();
    });
    input.on('close', () => this.#over());
  }

  /** Reads nothing more, and leaves the stream as it is. */
  stop(): void {
    this.#isStopped = true;
    this.#input.off('data', this.#read);
    this.#held?.resolve();
    this.#held = undefined;
  }

  /** Counts a message or an error among the bytes that are being read. */
  countLine(): void {
    this.#lines += 1;
  }

  /** Stops reading until the peer has read. After the end of the stream this has no effect. */
  holdUntil(ready: Promise<unknown>): void {
    if (this.#isOver || this.#held) return;
    const held = this.#hold(false);
    void ready.then(() => this.#resume(held));
  }

  /** Resolves when what waits for a turn of the event loop is read. Undefined if nothing waits for one. */
  get turn(): Promise<void> | undefined {
    return this.#awaitsTurn ? this.#held?.promise : undefined;
  }

  readonly #read = (chunk: Uint8Array | string): void => {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    if (!this.#held) return this.#take(bytes);
    this.#rest = Buffer.concat([this.#rest, bytes]);
    // Whoever had paused it has resumed it.
    this.#wasPaused = false;
    this.#input.pause();
  };

  /** Reads bytes in slices, and goes on later where it must wait. What that throws would end the process. */
  #take(bytes: Uint8Array, isInTurn = false): void {
    try {
      this.#sink.begin();
      this.#slices(bytes, isInTurn);
    } catch (error) {
      this.#sink.failed(error as Error);
    }
  }

  #slices(bytes: Uint8Array, isInTurn: boolean): void {
    for (let at = 0; at < bytes.length; at += SLICE) {
      const slice = bytes.subarray(at, at + SLICE);
      if (this.#sink.completesLarge(slice) && !(isInTurn && at === 0)) return this.#takeInTurn(bytes.subarray(at));
      const isNoisy = this.#sink.push(slice);
      if (isNoisy || this.#lines >= LINES_PER_TURN) this.#pauseForATurn();
      else if (this.#lines >= LINES_PER_TURN / 2) this.#countTurn();
      if (!this.#held) continue;
      this.#rest = bytes.subarray(at + SLICE);
      return;
    }
  }

  /**
   * Reads the end of a large message, in turn with others: many peers may complete one in the same turn of the event loop, and
   * each may have hundreds of thousands of values.
   */
  #takeInTurn(bytes: Uint8Array): void {
    let held: Deferred | undefined;
    const taken = inShortTurns(() => (held ? this.#resume(held, true) : this.#slices(bytes, true)), this);
    if (!(taken instanceof Promise)) return;
    this.#rest = bytes;
    held = this.#hold(true);
  }

  /** Lets timers and other connections run before the next slice. */
  #pauseForATurn(): void {
    this.#lines = 0;
    if (this.#held) return;
    const held = this.#hold(true);
    setImmediate(() => this.#resume(held));
  }

  /** Counts the lines of the next turn anew. Costs less than a pause, which a peer with many calls would need often. */
  #countTurn(): void {
    if (this.#turnEnds) return;
    this.#turnEnds = true;
    setImmediate(() => {
      this.#turnEnds = false;
      this.#lines = 0;
    });
  }

  #hold(awaitsTurn: boolean): Deferred {
    this.#held = new Deferred();
    this.#awaitsTurn = awaitsTurn;
    this.#wasPaused = this.#input.isPaused();
    this.#input.pause();
    return this.#held;
  }

  #resume(held: Deferred, isInTurn = false): void {
    if (this.#held !== held || this.#isStopped) return;
    this.#held = undefined;
    const rest = this.#rest;
    this.#rest = NOTHING;
    if (!this.#isOver && !this.#wasPaused) this.#input.resume();
    this.#take(rest, isInTurn);
    held.resolve();
    if (this.#isOver && !this.#held) this.#sink.end();
  }

  #over(): void {
    if (this.#isOver || this.#isStopped) return;
    this.#isOver = true;
    if (!this.#held) this.#sink.end();
    else if (!this.#awaitsTurn) this.#resume(this.#held);
  }
}
