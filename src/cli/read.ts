import type { ClientFlags } from './client-options.ts';
import { withClient } from './with-client.ts';
import { ExitCode, Failure } from './failure.ts';
import { takeTarget, type SplitWords } from './take-target.ts';

/** `everwire read`: prints the contents of a resource. */
export async function read(words: SplitWords, flags: ClientFlags): Promise<void> {
  const { target, rest } = takeTarget(words, flags);
  const [uri, ...more] = rest;
  if (uri === undefined) throw Failure.usage('the URI of a resource is missing; see everwire list');
  if (more.length > 0) throw Failure.usage('read takes one URI');
  return withClient(target, flags, async ({ client, output, terminal, limits }) => {
    const onprogress = (progress: { progress: number }): void => terminal.progress(progress);
    const result = await client.readResource(uri, { ...limits, onprogress }).finally(() => terminal.done());
    if (output.json) await output.value(result);
    else for (const contents of result.contents) await output.contents(contents, { save: true });
    return ExitCode.Ok;
  });
}
