import type { RuleInfo } from '../lint/rule.ts';
import type { Ground } from './ground.ts';
import type { Outcome } from './outcome.ts';

/** Where a rule can be tried. */
export type Carriage = 'http' | 'stdio' | 'any';

/** A rule about the behaviour of a server, and how to try it. */
export interface BehaviourRule extends RuleInfo {
  readonly over: Carriage;
  /**
   * Whether it is tried in each revision that the server speaks. Default: only in the newest one with a handshake and in
   * the newest one without, as far as the rule holds there.
   */
  readonly inEach?: boolean;
  /** Tries it. Everything that it opens on the ground is closed afterwards. */
  probe(ground: Ground): Promise<Outcome>;
}
