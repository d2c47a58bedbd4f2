import { REVISIONS } from '../../src/protocol/revisions.ts';
import { v1Http } from '../interop/client/official-servers.ts';
import { ourClient } from '../interop/client/our-client.ts';
import type { OfficialClient } from '../interop/clients.ts';
import { programs, startProgram, startServer } from '../support/process.ts';
import { connectDriver } from './driver.ts';
import type { Language, Row, Way } from './language.ts';

/** A connected client of a row, and how to end it and all that was started for it. */
export interface Cell {
  readonly client: OfficialClient;
  readonly close: () => Promise<void>;
}

type Stop = () => Promise<unknown>;

/** How to reach a server: a program over stdio, or a URL. */
interface Reachable {
  readonly command?: readonly string[];
  readonly url?: string;
  readonly sseUrl?: string;
}

const NODE = process.execPath;
const everwire = [NODE, ...programs.everwire];

/** Starts what a row needs, and connects its client. */
export async function openCell(language: Language, row: Row): Promise<Cell> {
  const stops: Stop[] = [];
  const close = async (): Promise<void> => {
    for (const stop of stops.splice(0).toReversed()) await stop();
  };
  try {
    const client = await (row.peer === 'client' ? theirClient : theirServer)(language, row, stops);
    return { client, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function theirClient(language: Language, row: Row, stops: Stop[]): Promise<OfficialClient> {
  const { way, revision, across } = row;
  const features = [NODE, ...programs.features, '--tasks', '--stdio'];
  let server: Reachable = { command: features };
  if (across !== undefined) {
    const legacy = REVISIONS[across].era === 'legacy';
    server = await bridged(legacy ? { url: await legacyServer(stops) } : server, way, revision < across, stops);
  } else if (way !== 'stdio') {
    const started = await startServer([...programs.features, '--tasks', '--port', '0']);
    stops.push(() => started.stop());
    server = started;
  }
  const transport = way === 'stateless' ? 'http' : way;
  const place =
    transport === 'stdio' ? { command: server.command! } : { url: transport === 'sse' ? server.sseUrl! : server.url! };
  const client = await connectDriver(language.client, { transport, era: REVISIONS[revision].era, revision, ...place });
  stops.push(() => client.close());
  return client;
}

/** A server that knows only the revisions with a handshake. */
async function legacyServer(stops: Stop[]): Promise<string> {
  const { target, stop } = await v1Http();
  stops.push(stop);
  return target as string;
}

async function theirServer(language: Language, row: Row, stops: Stop[]): Promise<OfficialClient> {
  const { way, revision, across } = row;
  const program = language.server(way);
  let server: Reachable = { command: program };
  if (way !== 'stdio') {
    const [command = '', ...args] = program;
    const started = startProgram(command, args);
    stops.push(() => started.stop());
    const [, url = ''] = await started.line(/listening on (http:\S+)$/, 30_000);
    server = { url };
  }
  if (across !== undefined) server = await bridged(server, 'http', across < revision, stops);
  const [command = '', ...args] = server.command ?? [];
  const target = server.command ? { command, args } : server.url!;
  const client = await ourClient(target, { revision: across ?? revision });
  stops.push(() => client.close());
  return client;
}

/**
 * Our bridge in front of a server.
 *
 * @param shared makes the bridge prefer 2026-07-28. Otherwise it prefers the era of its client.
 */
async function bridged({ command, url }: Reachable, way: Way, shared: boolean, stops: Stop[]): Promise<Reachable> {
  const behind = [...(shared ? ['--shared'] : []), ...(command ? ['--', ...command] : [url!])];
  if (way === 'stdio') return { command: [...everwire, 'bridge', '--stdio', ...behind] };
  const started = await startServer([...programs.everwire, 'bridge', '--port', '0', ...behind]);
  stops.push(() => started.stop());
  return started;
}
