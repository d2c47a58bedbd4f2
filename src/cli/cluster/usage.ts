import { peerUrl } from '../../base/peer-url.ts';
import { Failure } from '../failure.ts';
import { readStore } from '../read-secret.ts';

/** The options that decide whether there may be several workers. */
export interface WorkersFlags {
  readonly workers?: number;
  readonly store?: string;
  readonly stdio?: boolean;
  readonly record?: string;
  readonly inspect?: boolean;
  readonly shared?: boolean;
  readonly pool?: number;
}

/** What needs one process: a stream, a file, a page, or a connection for all clients. */
const ALONE = ['stdio', 'record', 'inspect', 'shared', 'pool'] as const;

/**
 * Whether the user wants several workers.
 *
 * @throws Failure with code 2 if these options do not permit that.
 */
export function wantsWorkers(flags: WorkersFlags): boolean {
  if ((flags.workers ?? 1) === 1) return false;
  for (const option of ALONE) {
    if (flags[option] !== undefined && flags[option] !== false)
      throw Failure.usage(`--workers cannot be used with --${option}, which needs one process`);
  }
  const store = readStore(flags.store);
  if (store === undefined || !/^rediss?:$/.test(peerUrl(store)?.protocol ?? ''))
    throw Failure.usage('--workers needs a store that several processes can use: add --store redis://…');
  if (process.versions['bun'] !== undefined || process.versions['deno'] !== undefined)
    throw Failure.usage('--workers needs Node: on Bun and Deno, start one process for each port');
  return true;
}
