import {
  anyAuth,
  anyReachable,
  createHealth,
  createLog,
  createMetrics,
  createTracing,
  logCalls,
  pagesAt,
  reachability,
  tlsFiles,
  type HealthCheck,
  type Log,
} from 'everwire/operate';
import { authenticators } from './auth.js';
import { server } from './server.js';

const check: HealthCheck = () => undefined;

export async function run(): Promise<string> {
  const log: Log = await createLog({ format: 'json', level: undefined });
  const metrics = await createMetrics({ process: false });
  const tracing = await createTracing();
  const reached = reachability({ probe: async () => {} });
  const health = createHealth({ check, server: anyReachable(() => [reached]) });
  server.use(tracing.server(), metrics.middleware('library'), reached.middleware, logCalls(log, 'library'));
  const tls = await tlsFiles('cert.pem', 'key.pem');
  const listener = await server.listen({
    auth: anyAuth(...authenticators),
    tls: tls.credentials,
    pages: pagesAt({ ...health.pages, '/metrics': metrics.page({ requiresAuth: true }) }),
    onrefusal: metrics.refused,
  });
  const stop = tls.watch({ renew: (credentials) => listener.renewTls(credentials), onerror: () => {} });
  metrics.gauge('sessions', 'Live sessions', () => listener.handler.sessions);
  stop();
  return metrics.text();
}
