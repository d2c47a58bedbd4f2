import type { ClientTransport, ServerTarget } from './target.ts';

/** A transport to a server in this process. `in-process.browser.ts` replaces this in browsers. */
export async function linkedTo(target: ServerTarget): Promise<ClientTransport> {
  const [{ memoryTransportPair }, { serve }] = await Promise.all([
    import('../transport/memory.ts'),
    import('../wire/serve.ts'),
  ]);
  const [ours, theirs] = memoryTransportPair();
  await (target.connect?.(theirs) ?? serve(target.service, theirs));
  return ours;
}
