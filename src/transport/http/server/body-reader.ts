import type { BufferBudget, Holder } from '../../../base/buffer-budget.ts';
import { BodyBuffer } from '../body-buffer.ts';
import type { BodyRefusal } from './call.ts';

/** Collects the body of one request, within a limit and the budget for unfinished bodies. */
export class BodyReader implements Holder {
  held = 0;
  readonly #limit: number;
  /** The length that the request declares. NaN if it declares none. */
  readonly #declared: number;
  readonly #budget: BufferBudget;
  readonly #buffer = new BodyBuffer();
  /** Undefined after it was called: the reader lives longer than the body. */
  #done: ((body: Uint8Array | BodyRefusal) => void) | undefined;

  constructor(limit: number, declared: number, budget: BufferBudget, done: (body: Uint8Array | BodyRefusal) => void) {
    this.#limit = limit;
    this.#declared = declared;
    this.#budget = budget;
    this.#done = done;
    if (declared > limit) this.#finish('too large');
  }

  /** Whether the body is neither complete nor refused. */
  get wanted(): boolean {
    return this.#done !== undefined;
  }

  push(chunk: Uint8Array): void {
    if (!this.#done) return;
    const buffer = this.#buffer;
    if (buffer.length + chunk.length > this.#limit) return this.#refuse('too large');
    buffer.push(chunk);
    // A body that comes in one piece is complete at once, and needs no place in the budget.
    if (buffer.length !== this.#declared) this.#budget.hold(this, buffer.capacity);
  }

  end(): void {
    if (!this.#done) return;
    this.close();
    this.#finish(this.#buffer.take());
  }

  /** The client has left, so there will be no end. */
  close(): void {
    if (this.held > 0) this.#budget.hold(this, 0);
  }

  cutOff(): void {
    this.#refuse('no room');
  }

  #refuse(why: BodyRefusal): void {
    this.#buffer.take();
    this.close();
    this.#finish(why);
  }

  #finish(body: Uint8Array | BodyRefusal): void {
    const done = this.#done;
    this.#done = undefined;
    done?.(body);
  }
}
