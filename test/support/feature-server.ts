import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { parseArgs } from 'node:util';
import type { HttpListener } from '../../src/transport/http/server/listen.ts';
import { openStore } from '../../src/cli/open-store.ts';
import { stop } from '../../src/cli/shutdown.ts';
import { addErrand } from './errand.ts';
import { featureServer } from './features.ts';

/**
 * The feature server as a process: over `--stdio`, over the official SDK's stdio transport, or over HTTP on `--port`. With
 * `--tasks`, it has tools whose calls are tasks.
 */

const options = {
  port: { type: 'string', default: '0' },
  stdio: { type: 'boolean', default: false },
  'official-stdio': { type: 'boolean', default: false },
  'ask-timeout': { type: 'string', default: '600000' },
  'idle-timeout': { type: 'string', default: '1800000' },
  'stall-timeout': { type: 'string', default: '30000' },
  'state-key': { type: 'string' },
  store: { type: 'string' },
  tasks: { type: 'boolean', default: false },
} as const;
const { values } = parseArgs({ options });

let listener: HttpListener | undefined;
const server = featureServer(() => listener?.handler.sessions ?? 0, {
  askTimeout: Number(values['ask-timeout']),
  stateKey: values['state-key'],
});

if (values.tasks) addErrand(server);

if (values.stdio) {
  await server.stdio();
} else if (values['official-stdio']) {
  await server.connect(new StdioServerTransport());
} else {
  const state = await openStore(values.store, { stateKey: values['state-key'], onwarning: console.error });
  listener = await server.listen({
    state,
    port: Number(values.port),
    idleTimeout: Number(values['idle-timeout']),
    stallTimeout: Number(values['stall-timeout']),
  });
  console.error(`listening on ${listener.url}`);
  const { close } = listener;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void close().then(stop));
}
