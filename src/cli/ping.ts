import type { Work } from './with-client.ts';
import { Failure } from './failure.ts';

/** `everwire ping`: whether a server responds, and how fast. */
export function ping(rest: readonly string[]): Work {
  if (rest.length > 0) throw Failure.usage('ping takes only a target');
  return async ({ client, output, signal }) => {
    const begun = performance.now();
    await client.ping({ signal });
    const ms = Math.round((performance.now() - begun) * 100) / 100;
    const { revision } = client;
    if (output.json) await output.value({ ms, revision });
    else await output.text(`answered in ${ms} ms (${revision})`);
  };
}
