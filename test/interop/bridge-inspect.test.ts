import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { createInterface } from 'node:readline';
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { WireRecord } from '../../src/inspect/record.ts';
import { partsOf } from '../support/captured.ts';
import { node, temporaryFolder } from '../support/command-line.ts';
import { PageClient, startInspector } from '../support/inspector.ts';
import { programs } from '../support/process.ts';

const info = { name: 'interop', version: '1.0.0' };
const END = 'the end of the test';

/** What a tee has logged, by the side that wrote it. Client 2.x probes with another process, which does not count. */
function logged(folder: string): Record<'client' | 'server', string[]> {
  const logs = readdirSync(folder).map((file) => readFileSync(path.join(folder, file), 'utf8').trim());
  const lines = logs.find((log) => log.includes(END))!.split('\n');
  const entries = lines.map((line) => JSON.parse(line) as { from: 'client' | 'server'; line: string });
  const of = (side: string): string[] => entries.flatMap(({ from, line }) => (from === side ? [line] : []));
  return { client: of('client'), server: of('server') };
}

/** The records until the client has got the last answer. */
async function recordsOf(page: PageClient): Promise<WireRecord[]> {
  const records: WireRecord[] = [];
  const servers = new Set<number>();
  for await (const record of await page.records()) {
    records.push(record);
    if (record.layer === 'open' && record.role === 'server') servers.add(record.conn);
    if (record.layer !== 'message' || record.dir !== 's>c' || !servers.has(record.conn)) continue;
    if (partsOf(records, 's>c', record.conn).at(-1)!.text.includes(END)) return records;
  }
  throw new Error('the records have ended');
}

/** The texts of the messages on the connections of one side. A bridge over HTTP checks a server with another process. */
function messages(records: readonly WireRecord[], role: 'client' | 'server', dir: 'c>s' | 's>c'): string[] {
  const texts = (conn: number, of: typeof dir): string[] =>
    partsOf(records, of, conn).flatMap(({ layer, text }) => (layer === 'message' ? [text] : []));
  return records.flatMap((record) => {
    if (record.layer !== 'open' || record.role !== role) return [];
    const counts = record.protocol === 'http' || texts(record.conn, 's>c').some((text) => text.includes(END));
    return counts ? texts(record.conn, dir) : [];
  });
}

/** What a client does in each test: a list, a question of the server in between, progress, and the end. */
async function use(client: Pick<ClientV1, 'listTools' | 'callTool'>): Promise<void> {
  await client.listTools();
  await client.callTool({ name: 'add', arguments: { a: 2, b: 40 } });
  await client.callTool({ name: 'echo', arguments: { text: 'with \u2028 and \u{1F600}' } });
  await client.callTool({ name: 'echo', arguments: { text: END } });
}

const features = [node, ...programs.features, '--stdio'];
const bridge = ['bridge', '--inspect', '--inspect-port', '0'];

describe.each(['1.x', '2.x'] as const)('the page of a bridge shows what official clients %s', (version) => {
  test('and a server over stdio have logged, line by line', async () => {
    const [ours, theirs] = [temporaryFolder(), temporaryFolder()];
    const server = [node, ...programs.tee, theirs, ...features];
    const args = [...programs.tee, ours, node, ...programs.everwire, ...bridge, '--stdio', '--', ...server];
    const options = { command: node, args, stderr: 'pipe' as const };
    const transport = version === '1.x' ? new StdioV1(options) : new StdioV2(options);
    const printed = new Promise<string>((resolve) => {
      createInterface(transport.stderr as Readable).on('line', (line) => {
        const [, address] = /inspector on (\S+)/.exec(line) ?? [];
        if (address !== undefined) resolve(address);
      });
    });
    const client =
      version === '1.x' ? new ClientV1(info) : new ClientV2(info, { versionNegotiation: { mode: 'auto' } });
    onTestFinished(() => client.close());
    await client.connect(transport);
    const page = await PageClient.open(await printed);
    expect(await page.until(() => true)).toMatchObject({ role: 'observer' });
    await use(client as ClientV1);
    const records = await recordsOf(page);
    for (const [role, folder] of [
      ['server', ours],
      ['client', theirs],
    ] as const) {
      const log = logged(folder);
      expect(messages(records, role, 's>c')).toEqual(log.server);
      expect(messages(records, role, 'c>s')).toEqual(log.client);
    }
  });

  test('have sent and received over HTTP', async () => {
    const theirs = temporaryFolder();
    const server = [node, ...programs.tee, theirs, ...features];
    const { page, child } = await startInspector([...bridge, '--port', '0', '--', ...server]);
    const [, url] = await child.line(/listening on (http:\S+)/);
    const sent: string[] = [];
    const answers: Promise<string>[] = [];
    const fetchLogged = async (target: string | URL, init?: RequestInit): Promise<Response> => {
      const response = await fetch(target, init);
      if (typeof init?.body !== 'string') return response;
      sent.push(init.body);
      answers.push(response.clone().text());
      return response;
    };
    const options = { fetch: fetchLogged };
    const transport = version === '1.x' ? new HttpV1(new URL(url!), options) : new HttpV2(new URL(url!), options);
    const client =
      version === '1.x' ? new ClientV1(info) : new ClientV2(info, { versionNegotiation: { mode: 'auto' } });
    onTestFinished(() => client.close());
    await client.connect(transport);
    await use(client as ClientV1);
    const records = await recordsOf(page);
    const byText = (one: string, other: string): number => (one < other ? -1 : 1);
    // Connections run side by side, so the order between them is not the client's.
    expect(messages(records, 'server', 'c>s').toSorted(byText)).toEqual(sent.toSorted(byText));
    const received = (await Promise.all(answers)).flatMap((answer) =>
      answer.startsWith('{') ? [answer] : Array.from(answer.matchAll(/^data: (\{.*)$/gm), ([, data]) => data!),
    );
    expect(messages(records, 'server', 's>c').toSorted(byText)).toEqual(received.toSorted(byText));
    const log = logged(theirs);
    expect(messages(records, 'client', 's>c')).toEqual(log.server);
    expect(messages(records, 'client', 'c>s')).toEqual(log.client);
  });
});
