import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { onTestFinished } from 'vitest';
import { node } from './command-line.ts';
import { onLine } from './lines.ts';
import { programs } from './process.ts';

export type SdkVersion = '1.x' | '2.x';

const info = { name: 'interop', version: '1.0.0' };
/** What the last call of a client says. */
export const END = 'the end of the test';
/** A server over stdio. */
export const features = [node, ...programs.features, '--stdio'];

/** An official client that has not connected. */
export function officialClient(version: SdkVersion): ClientV1 {
  const client = version === '1.x' ? new ClientV1(info) : new ClientV2(info, { versionNegotiation: { mode: 'auto' } });
  onTestFinished(() => client.close());
  return client as ClientV1;
}

/** Connects an official client to a program over stdio. An inspector prints its address. */
export async function connectTo(
  client: ClientV1,
  version: SdkVersion,
  program: readonly string[],
): Promise<{ readonly printed: Promise<string> }> {
  const [command, ...args] = program;
  const options = { command: command!, args, stderr: 'pipe' as const };
  const transport = version === '1.x' ? new StdioV1(options) : new StdioV2(options);
  const printed = new Promise<string>((resolve) => {
    onLine(transport.stderr as Readable, (line) => {
      const [, address] = /inspector on (\S+)/.exec(line) ?? [];
      if (address !== undefined) resolve(address);
    });
  });
  await client.connect(transport);
  return { printed };
}

/** What a tee has logged, by the side that wrote it. Client 2.x probes with another process, which does not count. */
export function logged(folder: string): Record<'client' | 'server', string[]> {
  const logs = readdirSync(folder).map((file) => readFileSync(path.join(folder, file), 'utf8').trim());
  const lines = logs.find((log) => log.includes(END))!.split('\n');
  const entries = lines.map((line) => JSON.parse(line) as { from: 'client' | 'server'; line: string });
  const of = (side: string): string[] => entries.flatMap(({ from, line }) => (from === side ? [line] : []));
  return { client: of('client'), server: of('server') };
}

/** What a client does in each test: a list, a question of the server in between, progress, and the end. */
export async function use(client: Pick<ClientV1, 'listTools' | 'callTool'>): Promise<void> {
  await client.listTools();
  await client.callTool({ name: 'add', arguments: { a: 2, b: 40 } });
  await client.callTool({ name: 'echo', arguments: { text: 'with \u2028 and \u{1F600}' } });
  await client.callTool({ name: 'echo', arguments: { text: END } });
}
