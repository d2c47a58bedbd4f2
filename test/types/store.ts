import { createHttpHandler, type HttpHandler } from 'everwire/http';
import { McpServer } from 'everwire/server';
import {
  embeddedState,
  memoryBus,
  memorySessionStore,
  memoryState,
  redisState,
  type Bus,
  type EmbeddedState,
  type RedisClient,
  type RedisState,
  type SessionRecord,
  type SessionStore,
  type State,
} from 'everwire/store';
import { busSuite, sessionStoreSuite, type SuiteCase } from 'everwire/testing/contracts';
import { server } from './server.js';

const record: SessionRecord = { initialize: {}, logLevel: undefined };
const sessions: SessionStore = memorySessionStore({ maxSessions: 10, maxAge: undefined });
const bus: Bus = memoryBus()('node');
const state: State = { ...memoryState(), sessions, bus };

/** A client of the user's choice. */
const redis: RedisClient = { sendCommand: () => Promise.resolve() };

export const handler: HttpHandler = createHttpHandler({ service: server.service, state });
export const stored = new McpServer({ name: 'stored', version: '1', http: { state } });
export const cases: readonly SuiteCase[] = [
  ...sessionStoreSuite((bounds) => memorySessionStore(bounds)),
  ...busSuite(async () => [{ node: 'node', bus, end: async () => {} }]),
];

export async function run(): Promise<void> {
  await sessions.put('id', record);
  await using kept: EmbeddedState = await embeddedState('./data', {
    sessions: { maxSessions: 1 },
    onwarning: () => {},
  });
  await server.listen({ port: 0, state: kept });
  const shared: RedisState = redisState(redis, {
    sessions: { maxSessions: 1 },
    bus: { reader: redis, stateKey: 'a key of sixteen bytes', onerror: undefined },
  });
  await server.listen({ port: 0, state: shared });
}
