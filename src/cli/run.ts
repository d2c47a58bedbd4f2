import type { HttpListener, ListenOptions } from '../transport/http/listen.ts';
import type { Transport } from '../transport/transport.ts';
import { listenOptions, type ServeFlags } from './options.ts';
import { say } from './say.ts';
import { atEnd, stop } from './shutdown.ts';

/** What can be served both ways: an `McpServer`, for one. */
export interface Servable {
  connect(transport: Transport): Promise<void>;
  listen(options: Omit<ListenOptions, 'onsession' | 'onrequest'>): Promise<HttpListener>;
}

/**
 * Serves as the flags say, until the process is told to stop or, over stdio, the client is gone.
 *
 * @param name under which the client configuration lists the server.
 */
export async function run(name: string, served: Servable, flags: ServeFlags): Promise<void> {
  if (flags.stdio) {
    const { stdioServerTransport } = await import('../transport/stdio/server.ts');
    const transport = stdioServerTransport();
    atEnd(() => transport.close());
    await served.connect(transport);
    const closed = transport.onclose;
    transport.onclose = () => {
      closed?.();
      void stop();
    };
    return;
  }
  const listener = await served.listen(listenOptions(flags));
  atEnd(() => listener.close());
  say(`listening on ${listener.url}`);
  if (listener.sseUrl) say(`HTTP+SSE, for clients of 2024-11-05, on ${listener.sseUrl}`);
  say('client configuration:');
  process.stderr.write(`${JSON.stringify({ mcpServers: { [name]: { type: 'http', url: listener.url } } }, null, 2)}\n`);
}
