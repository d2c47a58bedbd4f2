import { parseArgs } from 'node:util';
import {
  descendants,
  eventually,
  isAlive,
  programs,
  root,
  startServer,
  type RunningServer,
} from '../support/process.ts';
import { bridged } from './soak/bridged.ts';
import { calls } from './soak/calls.ts';
import { Clients } from './soak/clients.ts';
import { faults } from './soak/faults.ts';
import { Load } from './soak/load.ts';
import { count, grew, resourcesOf, ownResources, show, type Held } from './soak/memory.ts';
import { RawHttp } from './soak/raw.ts';

/**
 * Runs calls and faults against a server and a bridge for a long time, checks each outcome, and compares what both processes
 * hold at rest after the first minute and at the end. Exits with code 1 if anything is wrong.
 */

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '20' }, rate: { type: 'string', default: '200' } },
});
const MINUTE = 60_000;
const REPORT = 15_000;
const duration = Number(values.minutes) * MINUTE;
if (!(duration >= MINUTE)) throw new RangeError('--minutes must be 1 or more');

// All child processes are killed when it exits.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

// Keeps the space for young objects small. Under load, V8 grows it by up to 32 MiB and keeps it although it is empty.
const MEASURED = ['--expose-gc', '--max-semi-space-size=1', '--import', `${root}test/fixtures/measured.mjs`];
// Abandoned work must end long before the first minute is over.
const server = await startServer([
  ...MEASURED,
  ...programs.features,
  ...['--idle-timeout', '15000', '--stall-timeout', '4000', '--ask-timeout', '20000'],
]);
const bridge = await startServer([
  ...MEASURED,
  ...programs.everwire,
  ...['bridge', '--port', '0', '--idle-timeout', '15', '--server-idle-timeout', '10', '--max-sessions', '1000'],
  ...['--', process.execPath, `${root}test/fixtures/asking-child.mjs`],
]);

const clients = [new Clients(server.url, 10), new Clients(bridge.url, 7)] as const;
const http = [new RawHttp(server.url), new RawHttp(bridge.url)] as const;
const operations = [...calls(clients[0], server), ...faults(http[0]), ...bridged(clients[1], http[1])];
const load = new Load(operations, Number(values.rate));

type All = Record<'server' | 'bridge' | 'load', Held>;

async function hold(): Promise<All> {
  const [ofServer, ofBridge] = await Promise.all([resourcesOf(server), resourcesOf(bridge)]);
  return { server: ofServer, bridge: ofBridge, load: await ownResources() };
}

const started = Date.now();

function report(held: All, what = ''): void {
  const seconds = `${Math.round((Date.now() - started) / 1000)} s`.padStart(6);
  const counts = `${load.over} operations, ${load.unexpected} unexpected, ${load.heldBack} held back`;
  const processes = Object.entries(held).map(([name, each]) => show(name, each));
  console.log(`${seconds}${what}: ${counts}; ${processes.join('; ')}; ${descendants(bridge.pid).length} children`);
}

/** Runs the load for this time, and prints a line now and then. */
async function run(until: number): Promise<void> {
  load.begin();
  for (let next = Date.now() + REPORT; next <= until; next += REPORT) {
    await new Promise((resolve) => setTimeout(resolve, next - Date.now()));
    report(await hold());
  }
}

/** Ends the load, closes all clients, and waits until the server and the bridge have released them. */
async function rest(): Promise<All> {
  await load.pause();
  await Promise.all(clients.map((each) => each.close()));
  for (const each of http) each.close();
  await closeFetch();
  await eventually(() => descendants(bridge.pid).length === 0, 'the children have ended', MINUTE);
  for (const process of [server, bridge]) await eventually(() => isAlone(process), 'the connections are over', MINUTE);
  const held = least([await hold(), await hold(), await hold(), await hold(), await hold()]);
  report(held, ' at rest');
  return held;
}

/** The smallest of several measurements, because freed memory returns to the system a little later. */
function least(all: readonly All[]): All {
  const of = (name: keyof All): Held => ({
    ...all.at(-1)![name],
    heap: Math.min(...all.map((each) => each[name].heap)),
    rss: Math.min(...all.map((each) => each[name].rss)),
  });
  return { server: of('server'), bridge: of('bridge'), load: of('load') };
}

async function isAlone(process: RunningServer): Promise<boolean> {
  return count((await resourcesOf(process)).resources, 'TCPSocketWrap') === 0;
}

/** Closes the connections that `fetch` keeps. The official clients use `fetch`. */
async function closeFetch(): Promise<void> {
  const key = Symbol.for('undici.globalDispatcher.1');
  const holder = globalThis as unknown as Record<symbol, { destroy(): Promise<void>; constructor: new () => never }>;
  const former = holder[key]!;
  holder[key] = new former.constructor();
  await former.destroy();
}

let failed = false;
try {
  await run(started + MINUTE);
  const before = await rest();
  await run(started + duration);
  const after = await rest();
  for (const name of ['server', 'bridge', 'load'] as const) {
    if (grew(name, before[name], after[name])) failed = true;
  }
  for (const [name, times] of load.counts) console.log(`${String(times).padStart(8)} ${name}`);
  if (load.unexpected > 0) failed = true;
} finally {
  const exits = await Promise.all([server.stop(), bridge.stop()]);
  if (exits.some(({ code }) => code !== 0)) failed = true;
  console.log(`ended with ${exits.map(({ code, signal }) => code ?? signal).join(' and ')}`);
}
const left = descendants(process.pid).filter(isAlive);
console.log(failed || left.length > 0 ? `failed; ${left.length} processes left` : 'passed');
process.exit(failed || left.length > 0 ? 1 : 0);
