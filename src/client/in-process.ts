import type { ClientTransport, ServerTarget } from './target.ts';

/** A transport to a server in this process. `in-process.browser.ts` replaces this in browsers. */
export async function linkedTo(target: ServerTarget): Promise<ClientTransport> {
  // One after the other: Jest cannot link modules that are imported at the same time and share others.
  const { memoryTransportPair } = await import('../transport/memory.ts');
  const { serve } = await import('../wire/serve.ts');
  const [ours, theirs] = memoryTransportPair();
  await (target.connect?.(theirs) ?? serve(target.service, theirs));
  return ours;
}
