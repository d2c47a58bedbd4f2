import { kindOf, type Target } from '../../client/target.ts';
import { reachOf } from '../../store/bus.ts';
import type { State } from '../../store/state.ts';
import { serverNameOf } from '../server-name.ts';
import { KeptSessions } from './kept-sessions.ts';
import { Pins, type PinsOptions } from './pins.ts';

/** The options of a bridge that say whether and what its processes share. */
interface Sharing {
  readonly state?: Partial<Pick<State, 'node' | 'isAlive' | 'bus' | 'claims'>> | undefined;
  readonly name?: string | undefined;
  readonly connections?: unknown;
  readonly anonymous?: unknown;
  readonly target: Target;
  readonly stateKey?: string | Uint8Array | undefined;
}

/** Undefined if each process has a connection for each client. */
export function pinsFor(
  { state, name = 'server', connections = 'per-session', anonymous, target, stateKey }: Sharing,
  options: Omit<PinsOptions, 'processes' | 'name' | 'server' | 'kept'>,
): Pins | undefined {
  const reach = reachOf(state);
  const claims = state?.claims;
  if (!reach || !claims) return undefined;
  if (connections !== 'per-session' || anonymous === 'one-client') return undefined;
  const { onerror } = options;
  const server = serverNameOf(target);
  const kept =
    stateKey === undefined || kindOf(target) !== 'url'
      ? undefined
      : new KeptSessions({ claims, stateKey, server, onerror });
  return new Pins({ ...options, processes: { ...reach, claims }, name, server, kept });
}
