import type { Service } from '../core/exchange.ts';
import { serve } from '../wire/serve.ts';
import { listenOptions, type ServeFlags } from './options.ts';

/** One line for the person at the terminal. Stdout belongs to the protocol. */
export function say(line: string): void {
  process.stderr.write(`everwire: ${line}\n`);
}

/** What must be released at the end. */
type Release = () => Promise<void>;

/**
 * Serves a service as the flags say, until it is told to stop or, over stdio, the client is gone.
 *
 * @param name under which the client configuration lists the server.
 * @returns what ends it, and the process.
 */
export async function run(
  name: string,
  service: Service,
  flags: ServeFlags,
  release: Release = async () => {},
): Promise<Release> {
  const onerror = (error: Error): void => say(error.message);
  if (flags.stdio) {
    const { stdioServerTransport } = await import('../transport/stdio/server.ts');
    const transport = stdioServerTransport();
    const stop = stopOnce(async () => {
      await transport.close();
      await release();
    });
    await serve(service, transport, { onerror });
    const closed = transport.onclose;
    transport.onclose = () => {
      closed?.();
      void stop();
    };
    return stop;
  }
  const { listen } = await import('../transport/http/listen.ts');
  const listener = await listen({
    ...listenOptions(flags),
    onerror,
    onsession: (transport) => serve(service, transport, { onerror }),
  });
  const stop = stopOnce(async () => {
    await listener.close();
    await release();
  });
  say(`listening on ${listener.url}`);
  if (listener.sseUrl) say(`HTTP+SSE, for clients of 2024-11-05, on ${listener.sseUrl}`);
  say('client configuration:');
  process.stderr.write(`${JSON.stringify({ mcpServers: { [name]: { type: 'http', url: listener.url } } }, null, 2)}\n`);
  return stop;
}

/** Stops on the signals that end a process, and when asked; a second signal does not wait. */
function stopOnce(release: Release): () => Promise<void> {
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopping ??= release()
      .catch((error: Error) => {
        say(error.message);
        process.exitCode = 1;
      })
      .finally(() => process.exit());
    return stopping;
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(1);
      void stop();
    });
  }
  return stop;
}
