import { server } from '../../examples/demo.ts';
import type { ServeFlags } from './options.ts';
import { run } from './run.ts';

/** `everwire demo`: the example server. */
export function demo(flags: ServeFlags): Promise<void> {
  return run('demo', server, flags);
}
