import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { HttpConnection } from './http-connection.ts';
import { loadHttp } from './http-load.ts';
import { HttpSession } from './http-session.ts';
import { bundledSize, importTimes } from './imports.ts';
import { peakMemory, peerScript, startPeer, startProgram, startStdio, stop, type HttpPeer } from './processes.ts';
import { medianSample, type Sample } from './sample.ts';
import { bytesPerSession } from './sessions.ts';
import { StdioLoad } from './stdio-load.ts';
import { table } from './table.ts';

const USAGE = `npm run bench -- [--only http,stdio,bridge,memory,import] [--seconds 3] [--rounds 3]

Measures Everwire beside the official SDKs, other bridges and the bare limit, all in this one run, and prints one table.
"of bare" compares with the bare peer of the same rows: more is better for rates, less for memory.`;

const CONNECTIONS = 16;
const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'http,stdio,bridge,memory,import' },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '3' },
    help: { type: 'boolean', default: false },
  },
});
const seconds = Number(values.seconds);
const rounds = Number(values.rounds);
const rows: string[][] = [['what', 'who', 'result', 'p50 ms', 'p99 ms', 'peak MB', 'of bare']];

const sections: Record<string, () => Promise<void>> = {
  async http() {
    await overHttp(`HTTP tools/call, ${CONNECTIONS} connections`, {
      bare: () => startPeer('bare-http'),
      everwire: () => startPeer('everwire-http'),
      'sdk v1': () => startPeer('sdk-v1-http'),
      'sdk v2': () => startPeer('sdk-v2-http'),
    });
  },
  async bridge() {
    const child = [process.execPath, peerScript('bare-stdio')];
    const everwire = binOf('.', 'everwire');
    const mcpProxy = binOf('node_modules/mcp-proxy', 'mcp-proxy');
    const supergateway = binOf('node_modules/supergateway', 'supergateway');
    await overHttp(`bridge tools/call, ${CONNECTIONS} connections`, {
      bare: () => startPeer('bare-bridge', child),
      everwire: () => startProgram('everwire', everwire, (port) => ['bridge', '--port', `${port}`, '--', ...child]),
      'mcp-proxy': () =>
        startProgram('mcp-proxy', mcpProxy, (port) => ['--host', '127.0.0.1', '--port', `${port}`, '--', ...child]),
      supergateway: () =>
        startProgram('supergateway', supergateway, (port) => {
          const command = child.map((part) => JSON.stringify(part)).join(' ');
          const output = ['--outputTransport', 'streamableHttp', '--stateful', '--logLevel', 'none'];
          return ['--stdio', command, ...output, '--port', `${port}`];
        }),
    });
  },
  async stdio() {
    const names = ['bare', 'everwire', 'sdk-v1', 'sdk-v2'];
    for (const inFlight of [64, 1]) await overStdio(`stdio tools/call, ${inFlight} in flight`, names, inFlight);
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
        ratio(bytes, bare),
      ]);
    }
  },
  async import() {
    progress('import');
    const modules = {
      everwire: 'everwire/server',
      'sdk v1': '@modelcontextprotocol/sdk/server/mcp.js',
      'sdk v2': '@modelcontextprotocol/server',
    };
    const [empty, ...times] = await importTimes(['data:text/javascript,', ...Object.values(modules)]);
    for (const [index, [who, module]] of Object.entries(modules).entries()) {
      rows.push([`import, beside an empty module`, who, `${(times[index]! - empty!).toFixed(1)} ms`, '', '', '', '']);
      const kilobytes = (await bundledSize(module)) / 1000;
      rows.push(['bundled, minified, gzip', who, `${kilobytes.toFixed(1)} kB`, '', '', '', '']);
    }
  },
};

const HTTP_PEERS = { bare: 'bare-http', everwire: 'everwire-http', 'sdk v1': 'sdk-v1-http', 'sdk v2': 'sdk-v2-http' };

/** Starts all peers, then loads them in turns, so that what else the machine does falls on all of them. */
async function overHttp(what: string, starters: Record<string, () => Promise<HttpPeer>>): Promise<void> {
  const peers: { who: string; peer: HttpPeer; session: HttpSession; samples: Sample[] }[] = [];
  const started: HttpPeer[] = [];
  try {
    for (const [who, start] of Object.entries(starters)) {
      progress(`${what}: starting ${who}`);
      const peer = await start();
      started.push(peer);
      const connection = new HttpConnection(peer.url);
      const session = await HttpSession.open(peer.url, connection);
      connection.close();
      peers.push({ who, peer, session, samples: [] });
    }
    for (let round = 0; round < rounds; round++) {
      for (const { who, session, samples } of peers) {
        progress(`${what}: ${who}, round ${round + 1}`);
        // The first warm-up is for the compiler, the others for the caches.
        await loadHttp(session, CONNECTIONS, round === 0 ? 2 : 0.3);
        samples.push(await loadHttp(session, CONNECTIONS, seconds));
      }
    }
    report(
      what,
      'req/s',
      peers.map(({ who, peer, samples }) => ({ who, samples, peak: peakMemory(peer.process) })),
    );
  } finally {
    await Promise.all(started.map((peer) => stop(peer.process)));
  }
}

async function overStdio(what: string, names: readonly string[], inFlight: number): Promise<void> {
  const peers = names.map((name) => {
    const child = startStdio(`${name}-stdio`);
    return { who: name.replace('-', ' '), child, load: new StdioLoad(child), samples: [] as Sample[] };
  });
  try {
    for (const { load } of peers) await load.initialize();
    for (let round = 0; round < rounds; round++) {
      for (const { who, load, samples } of peers) {
        progress(`${what}: ${who}, round ${round + 1}`);
        await load.run(inFlight, round === 0 ? 2 : 0.3);
        samples.push(await load.run(inFlight, seconds));
      }
    }
    report(
      what,
      'msg/s',
      peers.map(({ who, child, samples }) => ({ who, samples, peak: peakMemory(child) })),
    );
  } finally {
    await Promise.all(peers.map(({ child }) => stop(child)));
  }
}

function report(
  what: string,
  unit: string,
  measured: readonly { who: string; samples: readonly Sample[]; peak: number | undefined }[],
): void {
  let bare: number | undefined;
  for (const { who, samples, peak } of measured) {
    const { perSecond, p50, p99 } = medianSample(samples);
    bare ??= perSecond;
    const megabytes = peak === undefined ? '–' : (peak / 1e6).toFixed(0);
    const rate = `${Math.round(perSecond)} ${unit}`;
    rows.push([what, who, rate, p50.toFixed(2), p99.toFixed(2), megabytes, ratio(perSecond, bare)]);
  }
}

/** The script behind a command of a package in this folder. */
function binOf(folder: string, command: string): string {
  const { bin } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as {
    bin: Record<string, string>;
  };
  return path.resolve(folder, bin[command]!);
}

function ratio(value: number, bare: number): string {
  return (value / bare).toFixed(2);
}

function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
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
  console.log(table(rows));
}
