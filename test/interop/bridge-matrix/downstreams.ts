import type { Service } from '../../../src/core/exchange.ts';
import { listen } from '../../../src/transport/http/server/listen.ts';
import { streamTransport } from '../../../src/transport/stdio/stream.ts';
import { createInbound, serve } from '../../../src/wire/serve.ts';
import { connect, type ClientKind, type OfficialClient, type Target } from '../clients.ts';
import type { Kind } from './kinds.ts';
import { relayed } from './relay.ts';

/** The addresses at which a bridge serves all kinds of clients. */
export interface Front {
  readonly target: Target;
  readonly stop: () => Promise<void>;
}

/** Serves a bridge over HTTP, and over stdio to each started program. */
export async function openFront(service: Service, onerror: (error: Error) => void): Promise<Front> {
  const options = { sealState: false, onerror };
  const inbound = createInbound(service, options);
  const { onsession, onrequest } = inbound;
  const listener = await listen({ port: 0, onsession, onrequest, onerror });
  const stdio = await relayed((end) => void serve(service, streamTransport(end, end), options));
  const stop = async (): Promise<void> => {
    await inbound.close(0);
    await Promise.all([listener.close(0), stdio.stop()]);
  };
  return { target: { stdio: stdio.args, url: listener.url, sseUrl: listener.sseUrl! }, stop };
}

/** An official client that speaks only this revision: SDK 1.x for 2025-11-25 over HTTP, otherwise 2.x. */
export function connectDownstream({ revision, transport }: Kind, target: Target): Promise<OfficialClient> {
  return connect(clientOf(revision, transport), transport, target, {
    capabilities: capabilitiesOf(revision),
    revisions: [revision],
  });
}

function clientOf(revision: string, transport: Kind['transport']): ClientKind {
  if (revision >= '2026-07-28') return 'client 2.x modern';
  return revision === '2025-11-25' && transport === 'http' ? 'sdk 1.x' : 'client 2.x legacy';
}

/** All features of the revision. */
export function capabilitiesOf(revision: string): Record<string, object> {
  // From 2026-07-28 on, no notification says that roots have changed.
  const roots = { roots: revision < '2026-07-28' ? { listChanged: true } : {} };
  if (revision < '2025-06-18') return { ...roots, sampling: {} };
  if (revision < '2025-11-25') return { ...roots, sampling: {}, elicitation: {} };
  return { ...roots, sampling: { tools: {} }, elicitation: { form: {}, url: {} } };
}
