import { createServer } from 'node:http';
import {
  createHttpHandler,
  EventsPurged,
  fetchListener,
  listen,
  memoryEventLog,
  nodeListener,
  type Authenticator,
  type AuthRefusal,
  type EventLog,
  type HandlerState,
  type HttpHandler,
  type HttpListener,
  type HttpPage,
  type ListenOptions,
} from 'everwire/http';
import { server } from './server.js';

const refusal: AuthRefusal = { status: 401, message: 'Who is it?', headers: { 'www-authenticate': 'Bearer' } };
const auth: Authenticator = {
  authenticate: (call) => (call.header('x-name') === 'ada' ? { principal: 'ada', scopes: [] } : refusal),
  authorize: (caller, request) => (request.method === 'ping' || caller.scopes.length > 0 ? undefined : refusal),
  metadata: () => undefined,
};
const page: HttpPage = { requiresAuth: true, answer: (call) => call.respond(200, {}, call.path) };
const events: EventLog = memoryEventLog({ maxBytes: undefined });
const state: HandlerState = { events };
const options: ListenOptions = { service: server.service, auth, state, port: 0, tls: undefined, maxSuspended: 10 };

export const handler: HttpHandler = createHttpHandler({ service: server.service, sealState: false });
export const fetch: (request: Request) => Promise<Response> = fetchListener(handler);
export const node = createServer(nodeListener(handler));

export async function run(): Promise<HttpListener> {
  const other = await listen({ onsession: (transport) => server.connect(transport), port: 0 });
  await other.close(1000);
  return listen({ ...options, pages: (path) => (path === '/page' ? page : undefined) });
}

export const isGone = (error: unknown): boolean => error instanceof EventsPurged;
