import type { RuleInfo } from '../lint/rule.ts';
import type { Ground } from './ground.ts';
import type { Outcome } from './outcome.ts';

/** A rule about the behaviour of a server, and how to try it. */
export interface BehaviourRule extends RuleInfo {
  /** The only transport with which it can be tried: Streamable HTTP, the HTTP+SSE of 2024-11-05, or stdio. Default: any. */
  readonly over?: 'http' | 'sse' | 'stdio';
  /** Whether a rule of Streamable HTTP is also tried over HTTP+SSE. */
  readonly alsoOverSse?: boolean;
  /**
   * Whether it is tried in each revision that the server speaks. Default: only in the newest one with a handshake and in
   * the newest one without, as far as the rule holds there.
   */
  readonly inEach?: boolean;
  /** Tries it. Everything that it opens on the ground is closed afterwards. */
  probe(ground: Ground): Promise<Outcome>;
}
