import { McpServer, type Middleware } from 'everwire/server';

export const log: { method: string; client: string; ms: number }[] = [];

const timed: Middleware = (next) => async (exchange) => {
  const start = performance.now();
  try {
    return await next(exchange);
  } finally {
    const client = exchange.caller.clientInfo?.name ?? 'unknown';
    log.push({ method: exchange.method, client, ms: performance.now() - start });
  }
};

export const server = new McpServer({ name: 'library', version: '1.0.0' }).use(timed);

server.tool('opening_hours', { description: 'When the library is open' }, () => 'Monday to Saturday, 9 to 17');
