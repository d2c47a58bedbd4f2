import type { Client, Middleware } from 'everwire/client';

/** Records how long each request took, in milliseconds. */
export function timed(client: Client, record: (method: string, duration: number) => void): Client {
  const middleware: Middleware = (next) => async (exchange) => {
    const started = performance.now();
    try {
      return await next(exchange);
    } finally {
      record(exchange.method, performance.now() - started);
    }
  };
  return client.use(middleware);
}
