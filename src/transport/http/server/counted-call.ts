import { jsonWeight } from '../../../jsonrpc/weight.ts';
import type { AboutRefusal, BodyRefusal, RefusalReason } from './call.ts';
import type { HttpHandler } from './handler.ts';

/** What all calls of one handler share. */
export type Shared = Pick<HttpHandler, 'stallTimeout' | 'budget' | 'draining' | 'refused'>;

/** The memory that a call uses, and the report of its refusal. */
export abstract class CountedCall {
  bodyBytes = 0;
  abstract readonly address: string | undefined;
  protected readonly server: Shared;
  /** The share that the body counts towards. */
  protected share: string | undefined;
  /** Bytes that are reserved for the body while the call is being answered. */
  #reserved = 0;

  constructor(server: Shared) {
    this.server = server;
  }

  /** A complete body counts as a request from here on, until it is answered. */
  protected counted(body: Uint8Array): Uint8Array | BodyRefusal {
    const weight = jsonWeight(body);
    if (!this.server.budget.reserve(weight, this.share)) return 'no room';
    this.bodyBytes = this.#reserved = weight;
    return body;
  }

  /** Called when the call is answered or its client has left. */
  release(): void {
    this.server.budget.release(this.#reserved, this.share);
    this.#reserved = 0;
  }

  refused(reason: RefusalReason, status: number, about: AboutRefusal = {}): void {
    const { address } = this;
    this.server.refused({ reason, status, ...(address !== undefined && { address }), ...about });
  }
}
