import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, type ClientKind, type OfficialClient, type Target, type TransportKind } from './clients.ts';
import { features, type Peer } from './features.ts';

export const CLIENTS: readonly ClientKind[] = ['sdk 1.x', 'client 2.x legacy', 'client 2.x auto', 'client 2.x modern'];
export const TRANSPORTS: readonly TransportKind[] = ['stdio', 'http', 'sse'];

/** HTTP+SSE supports only revisions with a handshake. */
const OVER_SSE = new Set<ClientKind>(['sdk 1.x', 'client 2.x legacy']);

/** Tests every feature of a server with every official client over every transport, and prints the results. */
export function matrix(
  title: string,
  peer: Peer,
  start: () => Promise<{ target: Target; stop: () => Promise<unknown> }>,
  cells: {
    clients?: readonly ClientKind[];
    transports?: readonly TransportKind[];
    /** The newest revision of the server. */
    newest?: string;
  } = {},
): void {
  const { clients = CLIENTS, transports = TRANSPORTS, newest = '2026-07-28' } = cells;
  const wanted = features.filter(({ has }) => has(peer));
  const columns = clients
    .flatMap((client) => transports.map((transport) => ({ client, transport })))
    .filter(({ client, transport }) => transport !== 'sse' || OVER_SSE.has(client));
  const passed = new Set<string>();

  describe(title, () => {
    let target: Target;
    let stop: (() => Promise<unknown>) | undefined;

    beforeAll(async () => {
      ({ target, stop } = await start());
    });

    afterAll(async () => {
      await stop?.();
      console.info(
        table(
          `${title}: official clients`,
          wanted.map(({ name }) => name),
          columns.map(heading),
          passed,
        ),
      );
    });

    describe.each(columns.map((column) => [column.client, column.transport, column] as const))(
      '%s over %s',
      (_client, _transport, column) => {
        let client: OfficialClient;

        beforeAll(async () => {
          client = await connect(column.client, column.transport, target);
          if (client.revision === undefined) return;
          expect(client.revision).toBe(column.client === 'client 2.x legacy' ? '2025-11-25' : newest);
        });

        afterAll(async () => {
          await client?.close();
        });

        test.each(wanted.map((feature) => [feature.name, feature] as const))('%s', async (name, { run }) => {
          await run(client, peer);
          passed.add(`${name}|${heading(column)}`);
        });

        test('the client reports no error', () => {
          // The official clients report this error if the last progress comes in one chunk with the result.
          const known = /progress notification for an unknown token/;
          expect(client.errors.map(({ message }) => message).filter((message) => !known.test(message))).toEqual([]);
        });
      },
    );
  });
}

function heading({ client, transport }: { client: ClientKind; transport: TransportKind }): string {
  return `${client} ${transport}`;
}

/** Which rows passed in which columns. `passed` contains `row|column`. */
export function table(
  title: string,
  rows: readonly string[],
  columns: readonly string[],
  passed: ReadonlySet<string>,
): string {
  const width = Math.max(...rows.map((row) => row.length));
  const legend = columns.map((column, index) => `  ${index + 1}: ${column}`);
  const head = `${' '.repeat(width)}  ${columns.map((_, index) => String(index + 1).padStart(2)).join(' ')}`;
  const body = rows.map((row) => {
    return `${row.padEnd(width)}  ${columns.map((column) => (passed.has(`${row}|${column}`) ? ' ✓' : ' ✗')).join(' ')}`;
  });
  return [title, ...legend, head, ...body].join('\n');
}
