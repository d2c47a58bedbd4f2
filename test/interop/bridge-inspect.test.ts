import { StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, test } from 'vitest';
import type { WireRecord } from '../../src/inspect/record.ts';
import { partsOf } from '../support/captured.ts';
import { node, temporaryFolder } from '../support/command-line.ts';
import { startInspector, type PageClient } from '../support/inspector.ts';
import { programs } from '../support/process.ts';
import { END, features, logged, officialClient, use } from '../support/teed.ts';

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

const bridge = ['bridge', '--inspect', '--inspect-port', '0'];

describe.each(['1.x', '2.x'] as const)('the page of a bridge shows what official clients %s', (version) => {
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
    const client = officialClient(version);
    await client.connect(transport);
    await use(client);
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
