import type { Transport } from '../transport.ts';
import type { ChildOptions } from './child.ts';

/** Replaces `child.ts` in browsers and workers, which start no programs. */
export function childTransport({ command }: ChildOptions): Transport {
  throw new TypeError(
    `connect: ${JSON.stringify(command)} cannot be started here; connect to a URL, for example that of "everwire bridge"`,
  );
}
