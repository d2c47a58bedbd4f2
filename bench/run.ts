import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { cells, proxies, observedBridges, sessionCosts } from './bridges.ts';
import { checkCosts } from './check-cost.ts';
import { ClientLoad, type ClientTarget } from './client-load.ts';
import { leftovers } from './client-memory.ts';
import { rows as clusterRows } from './cluster/goals.ts';
import { cluster } from './cluster/section.ts';
import { cpuPerRequest } from './cpu.ts';
import { HttpConnection } from './http-connection.ts';
import { loadHttp } from './http-load.ts';
import type { HttpCalls } from './http-calls.ts';
import { tryCall } from './http-calls.ts';
import { HttpSession } from './http-session.ts';
import { bundledSize, importTimes } from './imports.ts';
import { ModernCalls, ModernLists } from './modern-calls.ts';
import { bridgedPeers, keepOffTheirCore, languagePeers, runtimePeers, type OneCorePeers } from './one-core.ts';
import { peakMemory, peerScript, startLines, startPeer, startStdio, stop, type HttpPeer } from './processes.ts';
import { medianRatio, progress, ratio, report, rows, withCpu, type Measured } from './rows.ts';
import { medianSample, type Sample } from './sample.ts';
import { bytesPerSession } from './sessions.ts';
import { pageCosts } from './page.ts';
import { findBrowser } from '../test/browser/support/find-browser.ts';
import { StdioLoad } from './stdio-load.ts';
import { subscriptionCost } from './subscriptions.ts';
import { table } from './table.ts';
import { typeCheck } from './type-check.ts';

const USAGE = `npm run bench -- [--only http,modern,tools,subscriptions,stdio,bridge,observed,client,client-memory,memory,import,page,languages,runtimes,cluster] [--seconds 3] [--rounds 3]

Measures Everwire beside the official SDKs, other bridges and the bare limit, all in this one run, and prints one table.
"of bare" compares with the first of the same rows: more is better for rates, less for memory, times and sizes.
Without --only, all but languages, runtimes and cluster are measured. languages and runtimes need taskset and two processors,
languages also the tools of npm run test:languages, and cluster needs Redis or Valkey.`;

const CONNECTIONS = 16;
const SUBSCRIPTIONS = 10_000;
const TOOLS = [5, 500];
const CLIENTS = ['everwire', 'sdk-v1', 'sdk-v2'];
/** How many times as many rounds the observed bridges take: what is shown there is smaller than how processes differ. */
const OBSERVED = 3;
/** The number of connections that a client opens in a round. */
const CONNECTS = 200;
/** The number of calls in the test for leaks. */
const CALLS = 1_000_000;
const { values } = parseArgs({
  options: {
    only: {
      type: 'string',
      default: 'http,modern,tools,subscriptions,stdio,bridge,observed,client,client-memory,memory,import,check,page',
    },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '3' },
    help: { type: 'boolean', default: false },
  },
});
const seconds = Number(values.seconds);
const rounds = Number(values.rounds);
/**
 * Seconds of load before each measurement. Not only before the first: V8 throws optimized code away while a peer waits
 * for its turn, because no connection keeps the hidden classes of its objects alive.
 */
const WARM_UP = 2;
/** For servers in languages whose compilers need longer on one core. */
const LONG_WARM_UP = 6;

const sections: Record<string, () => Promise<void>> = {
  async http() {
    await overHttp(`HTTP tools/call, ${CONNECTIONS} connections`, {
      bare: () => startPeer('bare-http'),
      everwire: () => startPeer('everwire-http'),
      'sdk v1': () => startPeer('sdk-v1-http'),
      'sdk v2': () => startPeer('sdk-v2-http'),
    });
  },
  async modern() {
    await overHttp(
      `HTTP 2026-07-28 tools/call, ${CONNECTIONS} connections`,
      {
        bare: () => startPeer('bare-http'),
        everwire: () => startPeer('everwire-modern'),
        'sdk v2 handler': () => startPeer('sdk-v2-modern'),
      },
      { prepare: (url) => new ModernCalls(url) },
    );
  },
  async check() {
    progress('check of messages before they are parsed');
    for (const { what, milliseconds, ofParsing } of checkCosts()) {
      const row = `check of a message before parsing: ${what}`;
      rows.push([
        row,
        'everwire',
        `${milliseconds.toFixed(1)} ms`,
        '',
        '',
        '',
        '',
        `${ofParsing.toFixed(2)} of parsing`,
      ]);
    }
  },
  async tools() {
    const kinds = { 'tools/call': ModernCalls, 'tools/list': ModernLists };
    for (const [what, Calls] of Object.entries(kinds)) {
      let few: number | undefined;
      for (const count of TOOLS) {
        progress(`${what}: ${count} tools`);
        const cost = await cpuPerRequest('everwire-modern', [String(count)], (url) => new Calls(url), seconds);
        few ??= cost;
        rows.push([
          `${what} of ${count} tools, processor`,
          'everwire',
          `${cost.toFixed(0)} µs`,
          '',
          '',
          '',
          '',
          ratio(cost, few),
        ]);
      }
    }
    for (const count of TOOLS) {
      progress(`type check: ${count} tools`);
      const time = await typeCheck(count);
      rows.push([`tsc, a server of ${count} tools`, 'everwire', `${time.toFixed(0)} ms`, '', '', '', '', '']);
    }
  },
  async subscriptions() {
    progress('subscriptions');
    const { memory, spread } = await subscriptionCost('everwire-modern', SUBSCRIPTIONS);
    const what = `${SUBSCRIPTIONS} open subscriptions/listen`;
    rows.push([`${what}, memory above the base`, 'everwire', `${(memory / 1e6).toFixed(0)} MB`, '', '', '', '', '']);
    rows.push([`${what}, a change reaches the last`, 'everwire', `${spread.toFixed(0)} ms`, '', '', '', '', '']);
  },
  async bridge() {
    for (const { name, downstream, bridges } of cells()) {
      const prepare = downstream === 'modern' ? { prepare: (url: URL) => new ModernCalls(url) } : {};
      await overHttp(`${name}, ${CONNECTIONS} connections`, bridges, prepare);
      await overHttp(`${name}, 1 connection`, bridges, { ...prepare, connections: 1 });
    }
    await overStdio('without a bridge, 1 in flight', { direct: () => startStdio('bare-stdio') }, 1);
    const { url, process: server } = await startPeer('bare-http');
    try {
      const starters = Object.entries(proxies(url.href)).map(
        ([who, [script, ...args]]) => [who, () => startLines(script!, args)] as const,
      );
      for (const inFlight of [16, 1])
        await overStdio(`bridge stdio → HTTP, ${inFlight} in flight`, Object.fromEntries(starters), inFlight);
    } finally {
      await stop(server);
    }
    progress('bridge: sessions');
    for (const [who, { bytes, children }] of Object.entries(await sessionCosts())) {
      const what = `bridge, memory of a session, processes: ${children.toFixed(0)}`;
      rows.push([what, who, `${(bytes / 1000).toFixed(0)} kB`, '', '', '', '', '']);
    }
  },
  async observed() {
    const what = `bridge HTTP → HTTP, ${CONNECTIONS} connections`;
    const server = await startPeer('bare-http');
    const folder = mkdtempSync(path.join(tmpdir(), 'everwire-bench-'));
    try {
      const bridges = observedBridges(server.url.href, path.join(folder, 'bridge.mcpcap'));
      const measured = await overHttp(what, bridges, { turns: rounds * OBSERVED });
      const bare = measured[0]!.samples;
      for (const { who, samples } of measured) {
        const { mainCpu } = medianSample(samples);
        if (mainCpu === undefined) continue;
        const spent = `${mainCpu.toFixed(1)} µs`;
        const ofBare = medianRatio(samples, bare, 'mainCpu');
        rows.push([`${what}, processor of the main thread`, who, spent, '', '', '', '', ofBare]);
      }
    } finally {
      await stop(server.process);
      rmSync(folder, { recursive: true });
    }
  },
  async client() {
    const server = await startPeer('bare-http');
    try {
      const names = ['bare-http', 'bare-fetch', 'everwire', 'sdk-v1', 'sdk-v2'];
      for (const inFlight of [16, 1])
        await clients(`client HTTP tools/call, ${inFlight} in flight`, names, server.url.href, inFlight);
      await connects('client HTTP, connect() and first call', server.url.href);
    } finally {
      await stop(server.process);
    }
    const command = [process.execPath, peerScript('bare-stdio')];
    for (const inFlight of [16, 1])
      await clients(`client stdio tools/call, ${inFlight} in flight`, CLIENTS, command, inFlight);
    await connects('client streams, connect() and first call', undefined);
    await imports(
      {
        everwire: 'everwire/client',
        'sdk v1': '@modelcontextprotocol/sdk/client/index.js',
        'sdk v2': '@modelcontextprotocol/client',
      },
      'client, ',
    );
  },
  async stdio() {
    const names = ['bare', 'everwire', 'sdk-v1', 'sdk-v2'];
    const starters = Object.fromEntries(
      names.map((name) => [name.replace('-', ' '), () => startStdio(`${name}-stdio`)]),
    );
    for (const inFlight of [64, 1]) await overStdio(`stdio tools/call, ${inFlight} in flight`, starters, inFlight);
  },
  async 'client-memory'() {
    for (const [place, calls] of [
      ['process', CALLS],
      ['pipes', CALLS],
      ['HTTP', CALLS / 10],
    ] as const) {
      for (const eras of ['modern', 'legacy']) {
        progress(`client-memory: ${place}, ${eras}`);
        const left = await leftovers(place, eras, calls);
        const what = `client, ${place}, ${eras}: left of ${calls.toLocaleString('en')} calls`;
        const held = `${left.listeners} listeners, ${left.timers} timers, ${left.bytesPerCall.toFixed(2)} bytes a call`;
        rows.push([what, 'everwire', held, '', '', '', '', '']);
      }
    }
  },
  async memory() {
    let bare: number | undefined;
    for (const [who, peer] of Object.entries(HTTP_PEERS)) {
      progress(`memory: ${who}`);
      const bytes = await bytesPerSession(peer);
      bare ??= bytes;
      rows.push([
        'idle session with GET stream',
        who,
        `${(bytes / 1000).toFixed(1)} kB`,
        '',
        '',
        '',
        '',
        ratio(bytes, bare),
      ]);
    }
  },
  async page() {
    const browser = findBrowser();
    if (browser === undefined) return;
    progress('page');
    const costs = await pageCosts(browser);
    const add = (what: string, result: string): void =>
      void rows.push([`inspector, ${what}`, 'everwire', result, '', '', '', '', '']);
    add('100,000 records: the slowest of eight filters', `${costs.filter.toFixed(0)} ms`);
    add('100,000 records: main thread for a frame while scrolling, p95', `${costs.frame.toFixed(1)} ms`);
    add('100,000 records: row elements', `${costs.rows}`);
    add('100,000 records: heap of the page', `${(costs.heap / 1e6).toFixed(0)} MB`);
    // A browser counts tasks from 50 ms on.
    add(
      'a result of 50 MB: longest task',
      costs.longestTask === 0 ? 'none above 50 ms' : `${costs.longestTask.toFixed(0)} ms`,
    );
    const { sent, lost, p50, p95, max, judgedP95, judgedMax } = costs.delay;
    add(`${sent / 1000},000 messages in 30 s: lost`, `${lost}`);
    add('5,000 messages/s: delay of a row, p50', `${p50.toFixed(0)} ms`);
    add('5,000 messages/s: delay of a row, p95', `${p95.toFixed(0)} ms`);
    add('5,000 messages/s: delay of a row, the longest', `${max.toFixed(0)} ms`);
    add('5,000 messages/s: delay of the linter, p95', `${judgedP95.toFixed(0)} ms`);
    add('5,000 messages/s: delay of the linter, the longest', `${judgedMax.toFixed(0)} ms`);
  },
  async import() {
    await imports({
      everwire: 'everwire/server',
      'sdk v1': '@modelcontextprotocol/sdk/server/mcp.js',
      'sdk v2': '@modelcontextprotocol/server',
    });
  },
  languages: () => onOneCore(languagePeers),
  runtimes: () => onOneCore(runtimePeers),
  cluster: () => cluster(seconds, rounds),
};

const HTTP_PEERS = { bare: 'bare-http', everwire: 'everwire-http', 'sdk v1': 'sdk-v1-http', 'sdk v2': 'sdk-v2-http' };

/**
 * Loads the peers in turns, so that other work on this machine affects all of them. Each turn starts a new process:
 * two processes of the same program differ by up to 30 % as long as they run, and so would only be compared once.
 */
async function overHttp(
  what: string,
  starters: Record<string, () => Promise<HttpPeer>>,
  {
    prepare = (url, connection) => HttpSession.open(url, connection),
    connections = CONNECTIONS,
    turns = rounds,
    warmUp = WARM_UP,
  }: {
    prepare?: (url: URL, connection: HttpConnection) => HttpCalls | Promise<HttpCalls>;
    connections?: number;
    turns?: number;
    warmUp?: number;
  } = {},
): Promise<readonly Measured[]> {
  const measured = Object.keys(starters).map((who) => ({ who, samples: [] as Sample[], peaks: [] as number[] }));
  for (let turn = 1; turn <= turns; turn++) {
    for (const { who, samples, peaks } of measured) {
      progress(`${what}: ${who}, round ${turn}`);
      const { url, process: peer } = await starters[who]!();
      try {
        const connection = new HttpConnection(url);
        const calls = await prepare(url, connection);
        await tryCall(calls, connection);
        connection.close();
        await loadHttp(calls, connections, warmUp);
        samples.push(await withCpu(peer, () => loadHttp(calls, connections, seconds)));
        peaks.push(peakMemory(peer) ?? NaN);
      } finally {
        await stop(peer);
      }
    }
  }
  const reported = measured.map(({ who, samples, peaks }) => ({ who, samples, peak: Math.max(...peaks) }));
  report(what, 'req/s', reported);
  return reported;
}

/** Each server alone on one core, with sessions, and then behind our bridge on the same core. The load has another core. */
async function onOneCore(find: () => Promise<OneCorePeers>): Promise<void> {
  const peers = await find();
  const free = keepOffTheirCore();
  const open = (url: URL, connection: HttpConnection): Promise<HttpSession> =>
    HttpSession.open(url, connection, String);
  const what = `feature server on one core, tools/call, ${CONNECTIONS} connections`;
  try {
    const options = { prepare: open, warmUp: LONG_WARM_UP };
    await overHttp(what, peers, options);
    await overHttp(`${what}, our bridge before it`, bridgedPeers(peers), options);
  } finally {
    free();
  }
}

async function imports(modules: Readonly<Record<string, string>>, what = ''): Promise<void> {
  progress(`${what}import`);
  const [empty, ...times] = await importTimes(['data:text/javascript,', ...Object.values(modules)]);
  for (const [index, [who, module]] of Object.entries(modules).entries()) {
    const milliseconds = (times[index]! - empty!).toFixed(1);
    rows.push([`${what}import, minus an empty module`, who, `${milliseconds} ms`, '', '', '', '', '']);
    const kilobytes = (await bundledSize(module)) / 1000;
    rows.push([`${what}bundled, minified, gzip`, who, `${kilobytes.toFixed(1)} kB`, '', '', '', '', '']);
  }
}

/** Clients of one server, measured in turns. */
async function clients(what: string, names: readonly string[], target: ClientTarget, inFlight: number): Promise<void> {
  const started: { who: string; client: ClientLoad }[] = [];
  try {
    for (const name of names)
      started.push({ who: name.replace('-', ' '), client: await ClientLoad.start(name, target) });
    for (let round = 0; round < rounds; round++) {
      for (const { who, client } of started) {
        progress(`${what}: ${who}, round ${round + 1}`);
        await client.load(WARM_UP, inFlight, false);
        await client.load(seconds, inFlight);
      }
    }
    let first: number | undefined;
    for (const { who, client } of started) {
      first ??= client.perSecond;
      rows.push([what, who, `${Math.round(client.perSecond)} req/s`, '', '', '', '', ratio(client.perSecond, first)]);
    }
    const { cpu: least } = started[0]!.client;
    for (const { who, client } of started) {
      rows.push([`${what}, processor`, who, `${client.cpu.toFixed(1)} µs`, '', '', '', '', ratio(client.cpu, least)]);
    }
  } finally {
    await Promise.all(started.map(({ client }) => client.stop()));
  }
}

/** How long clients take to connect and to get the result of their first call, measured in turns. */
async function connects(what: string, target: ClientTarget): Promise<void> {
  const started: { who: string; client: ClientLoad }[] = [];
  try {
    for (const name of CLIENTS)
      started.push({ who: name.replace('-', ' '), client: await ClientLoad.start(name, target) });
    for (let round = 0; round < rounds; round++) {
      for (const { who, client } of started) {
        progress(`${what}: ${who}, round ${round + 1}`);
        await client.connect(round === 0 ? CONNECTS : CONNECTS / 10, false);
        await client.connect(CONNECTS);
      }
    }
    const first = started[0]!.client.firstCall;
    for (const { who, client } of started) {
      const { firstCall } = client;
      rows.push([what, who, `${firstCall.toFixed(2)} ms`, '', '', '', '', ratio(firstCall, first)]);
    }
  } finally {
    await Promise.all(started.map(({ client }) => client.stop()));
  }
}

async function overStdio(
  what: string,
  starters: Readonly<Record<string, () => ReturnType<typeof startStdio>>>,
  inFlight: number,
): Promise<void> {
  const peers = Object.entries(starters).map(([who, start]) => {
    const child = start();
    return { who, child, load: new StdioLoad(child), samples: [] as Sample[] };
  });
  try {
    for (const { load } of peers) await load.initialize();
    for (let round = 0; round < rounds; round++) {
      for (const { who, child, load, samples } of peers) {
        progress(`${what}: ${who}, round ${round + 1}`);
        await load.run(inFlight, WARM_UP);
        samples.push(await withCpu(child, () => load.run(inFlight, seconds)));
      }
    }
    report(
      what,
      'msg/s',
      peers.map(({ who, child, samples }) => ({ who, samples, peak: peakMemory(child) ?? NaN })),
    );
  } finally {
    await Promise.all(peers.map(({ child }) => stop(child)));
  }
}

const chosen = values.only.split(',');
const unknown = chosen.filter((name) => !Object.hasOwn(sections, name));
if (values.help) console.log(USAGE);
else if (unknown.length > 0 || !(seconds > 0) || !(rounds >= 1)) {
  console.error(USAGE);
  process.exitCode = 1;
} else {
  for (const name of chosen) await sections[name]!();
  progress('');
  console.log(`Node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}`);
  console.log(`Medians of ${rounds} rounds of ${seconds} s each, the peers in turns.\n`);
  console.log(
    [rows, clusterRows]
      .filter(({ length }) => length > 1)
      .map(table)
      .join('\n\n'),
  );
}
