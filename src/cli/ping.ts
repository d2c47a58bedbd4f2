import type { ClientFlags } from './client-options.ts';
import { withClient } from './with-client.ts';
import { ExitCode, Failure } from './failure.ts';
import { takeTarget, type SplitWords } from './take-target.ts';

/** `everwire ping`: whether a server responds, and how fast. */
export async function ping(words: SplitWords, flags: ClientFlags): Promise<void> {
  const { target, rest } = takeTarget(words, flags);
  if (rest.length > 0) throw Failure.usage('ping takes only a target');
  return withClient(target, flags, async ({ client, output, limits }) => {
    const begun = performance.now();
    await client.ping(limits);
    const ms = Math.round((performance.now() - begun) * 100) / 100;
    const { revision } = client;
    if (output.json) await output.value({ ms, revision });
    else await output.text(`answered in ${ms} ms (${revision})`);
    return ExitCode.Ok;
  });
}
