import { server } from '../../examples/demo.ts';
import type { ServeFlags } from './options.ts';
import { run } from './run.ts';

/** `everwire demo`: the example server. */
export async function demo(flags: ServeFlags): Promise<void> {
  await run('demo', server.service, flags);
}
