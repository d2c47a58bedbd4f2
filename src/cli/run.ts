import type { Service } from '../core/exchange.ts';
import { serve } from '../wire/serve.ts';
import { listenOptions, type ServeFlags } from './options.ts';
import { say } from './say.ts';
import { atEnd, stop } from './shutdown.ts';

/**
 * Serves a service as the flags say, until the process is told to stop or, over stdio, the client is gone.
 *
 * @param name under which the client configuration lists the server.
 */
export async function run(name: string, service: Service, flags: ServeFlags): Promise<void> {
  const onerror = (error: Error): void => say(error.message);
  if (flags.stdio) {
    const { stdioServerTransport } = await import('../transport/stdio/server.ts');
    const transport = stdioServerTransport();
    atEnd(() => transport.close());
    await serve(service, transport, { onerror });
    const closed = transport.onclose;
    transport.onclose = () => {
      closed?.();
      void stop();
    };
    return;
  }
  const { listen } = await import('../transport/http/listen.ts');
  const listener = await listen({
    ...listenOptions(flags),
    onerror,
    onsession: (transport) => serve(service, transport, { onerror }),
  });
  atEnd(() => listener.close());
  say(`listening on ${listener.url}`);
  if (listener.sseUrl) say(`HTTP+SSE, for clients of 2024-11-05, on ${listener.sseUrl}`);
  say('client configuration:');
  process.stderr.write(`${JSON.stringify({ mcpServers: { [name]: { type: 'http', url: listener.url } } }, null, 2)}\n`);
}
