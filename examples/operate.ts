import { createHealth, createLog, createMetrics, createTracing, logCalls, pagesAt } from 'everwire/operate';
import { McpServer } from 'everwire/server';

const prices = new Map([['tea', 3]]);
export const server = new McpServer({ name: 'shop', version: '1.0.0' });
const name = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } as const;
server.tool('price', { input: name }, (args) => String(prices.get(args.name) ?? 'not sold here'));

const health = createHealth({ prices: () => (prices.size > 0 ? undefined : 'empty') });
const metrics = await createMetrics();
const log = await createLog({ format: 'json' });
const tracing = await createTracing();

// The first middleware is the outermost one.
server.use(tracing.server(), metrics.middleware('shop'), logCalls(log, 'shop'));

export const listener = await server.listen({
  port: Number(process.env['PORT'] ?? 8000),
  pages: pagesAt({ ...health.pages, '/metrics': metrics.page() }),
});
metrics.gauge('everwire_sessions', 'Live sessions', () => listener.handler.sessions);
log.write('info', 'listening', { url: listener.url });

export async function stop(): Promise<void> {
  health.drain();
  await server.close(10_000);
}
process.once('SIGTERM', () => void stop());
