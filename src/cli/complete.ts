import type { Work } from './with-client.ts';
import { Failure } from './failure.ts';
import { pairs } from './pairs.ts';

/** `everwire complete`: suggests values for an argument of a prompt or a resource template. */
export function complete([reference, ...args]: readonly string[]): Work {
  if (reference === undefined) throw Failure.usage('the name of a prompt, or a resource template, is missing');
  const [first, ...settled] = pairs(args);
  if (first === undefined)
    throw Failure.usage('an argument is missing: name=value, where the value may be empty or incomplete');
  const [name, value] = first;
  // A prompt can have any name, but one that looks like a URI is unlikely.
  const ref = /^[a-z][a-z\d+.-]*:/i.test(reference)
    ? { type: 'ref/resource' as const, uri: reference }
    : { type: 'ref/prompt' as const, name: reference };
  return async ({ client, output, signal }) => {
    const context = settled.length === 0 ? undefined : Object.fromEntries(settled);
    const completion = await client.complete(ref, { name, value }, { signal, context });
    if (output.json) await output.value(completion);
    else for (const each of completion.values) await output.line(each);
  };
}
