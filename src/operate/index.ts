/**
 * Tools for running a server in production: health and readiness, Prometheus metrics, OpenTelemetry spans, logs without
 * secrets, and certificate renewal. Each one is middleware, or a page of the HTTP handler. Each one loads its
 * dependencies when it is created.
 *
 * @module
 */
export { anyAuth } from './any-auth.ts';
export { logCalls } from './call-log.ts';
export { createHealth, type Health, type HealthCheck, type HealthOptions } from './health.ts';
export {
  createLog,
  type CleanLog,
  type Log,
  type LogFields,
  type LogFormat,
  type LogOptions,
  type LogSeverity,
  type LogThreshold,
} from './logs.ts';
export { createMetrics, type Metrics, type MetricsOptions, type Reading } from './metrics.ts';
export type { Outcome } from './outcome.ts';
export { pagesAt } from './page.ts';
export { anyReachable, reachability, type Reachability, type ReachabilityOptions } from './reachability.ts';
export { tlsFiles, type TlsFiles, type TlsWatch } from './tls-files.ts';
export { createTracing, type Tracing } from './tracing.ts';
export type { Middleware } from '../core/exchange.ts';
export type { Authenticator } from '../transport/http/server/access/authenticator.ts';
export type { HttpPage } from '../transport/http/server/handler.ts';
export type { TlsCredentials } from '../transport/http/server/listen.ts';
