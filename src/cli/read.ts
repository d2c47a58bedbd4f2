import type { Work } from './with-client.ts';
import { Failure } from './failure.ts';

/** `everwire read`: prints the contents of a resource. */
export function read([uri, ...more]: readonly string[]): Work {
  if (uri === undefined) throw Failure.usage('the URI of a resource is missing; see everwire list');
  if (more.length > 0) throw Failure.usage('read takes one URI');
  return async ({ client, output, terminal, signal }) => {
    const onprogress = (progress: { progress: number }): void => terminal.progress(progress);
    const result = await client.readResource(uri, { signal, onprogress }).finally(() => terminal.done());
    if (output.json) await output.value(result);
    else for (const contents of result.contents) await output.contents(contents, { save: true });
  };
}
