import type { Service } from '../core/exchange.ts';
import type { ClientTransport } from './target.ts';

/** A transport to a server in this process. `in-process.browser.ts` replaces this in browsers. */
export async function linkedTo(service: Service): Promise<ClientTransport> {
  const [{ memoryTransportPair }, { serve }] = await Promise.all([
    import('../transport/memory.ts'),
    import('../wire/serve.ts'),
  ]);
  const [ours, theirs] = memoryTransportPair();
  await serve(service, theirs);
  return ours;
}
