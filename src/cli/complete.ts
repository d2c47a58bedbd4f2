import type { ClientFlags } from './client-options.ts';
import { withClient } from './with-client.ts';
import { ExitCode, Failure } from './failure.ts';
import { pairs } from './pairs.ts';
import { takeTarget, type SplitWords } from './take-target.ts';

/** `everwire complete`: suggests values for an argument of a prompt or a resource template. */
export async function complete(words: SplitWords, flags: ClientFlags): Promise<void> {
  const { target, rest } = takeTarget(words, flags);
  const [reference, ...args] = rest;
  if (reference === undefined) throw Failure.usage('the name of a prompt, or a resource template, is missing');
  const [first, ...settled] = pairs(args);
  if (first === undefined)
    throw Failure.usage('an argument is missing: name=value, where the value may be empty or incomplete');
  const [name, value] = first;
  // A prompt can have any name, but one that looks like a URI is unlikely.
  const ref = /^[a-z][a-z\d+.-]*:/i.test(reference)
    ? { type: 'ref/resource' as const, uri: reference }
    : { type: 'ref/prompt' as const, name: reference };
  return withClient(target, flags, async ({ client, output, limits }) => {
    const context = settled.length === 0 ? undefined : Object.fromEntries(settled);
    const completion = await client.complete(ref, { name, value }, { ...limits, context });
    if (output.json) await output.value(completion);
    else for (const each of completion.values) await output.text(each);
    return ExitCode.Ok;
  });
}
