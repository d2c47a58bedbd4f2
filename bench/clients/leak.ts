import { getEventListeners, setMaxListeners } from 'node:events';
import { parseArgs } from 'node:util';
import { connect, type Client, type Target } from 'everwire/client';
import { McpServer } from 'everwire/server';
import { streamTransport } from 'everwire/stdio';
import { PassThrough } from 'node:stream';

/** What the given number of calls with one signal left behind. */
export interface Leftovers {
  readonly calls: number;
  /** The bytes by which the heap grew for each call, after the first tenth of the calls. */
  readonly bytesPerCall: number;
  /** Listeners of the signal. */
  readonly listeners: number;
  readonly timers: number;
  readonly seconds: number;
}

const IN_FLIGHT = 64;

const server = new McpServer({ name: 'echoing', version: '1.0.0' });
server.tool('echo', {}, () => 'echo');

async function target(place: string): Promise<Target> {
  if (place === 'process') return server;
  if (place === 'HTTP') return (await server.listen({ port: 0 })).url;
  const [up, down] = [new PassThrough(), new PassThrough()];
  void server.connect(streamTransport(up, down));
  return streamTransport(down, up, { role: 'client' });
}

const heap = (): number => {
  // The first collection may free objects that held others.
  for (let times = 0; times < 4; times += 1) globalThis.gc!();
  return process.memoryUsage().heapUsed;
};

const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

async function measure(client: Client, calls: number): Promise<Leftovers> {
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  let left = 0;
  const loop = async (): Promise<void> => {
    while ((left -= 1) >= 0) await client.callTool('echo', {}, { signal, onprogress: () => {} });
  };
  const run = async (times: number): Promise<void> => {
    left = times;
    await Promise.all(Array.from({ length: IN_FLIGHT }, loop));
  };
  const before = timers();
  const first = Math.ceil(calls / 10);
  await run(first);
  const warm = heap();
  const started = performance.now();
  await run(calls - first);
  const seconds = (performance.now() - started) / 1000;
  return {
    calls,
    bytesPerCall: (heap() - warm) / (calls - first),
    listeners: getEventListeners(signal, 'abort').length,
    timers: Math.max(0, timers() - before),
    seconds,
  };
}

const { values } = parseArgs({
  options: {
    place: { type: 'string', default: 'process' },
    eras: { type: 'string', default: 'modern' },
    calls: { type: 'string', default: '1000000' },
  },
});
const client = await connect(await target(values.place), {
  eras: values.eras === 'legacy' ? 'legacy' : 'modern',
  cache: false,
});
process.stdout.write(`${JSON.stringify(await measure(client, Number(values.calls)))}\n`);
await client.close();
process.exit();
