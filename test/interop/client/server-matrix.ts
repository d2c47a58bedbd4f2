import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ClientOptions, Target } from '../../../src/client/index.ts';
import type { OfficialClient } from '../clients.ts';
import { features, type Peer } from '../features.ts';
import { table } from '../matrix.ts';
import { ourClient } from './our-client.ts';

/** A server to which our client connects. */
export interface Column {
  readonly heading: string;
  readonly peer: Peer;
  /** The revision to use with it. */
  readonly revision: string;
  readonly options?: ClientOptions;
  /** Starts it. */
  readonly start: () => Promise<{ target: Target; stop: () => Promise<unknown> }>;
}

/** Tests every feature of a server with our client, and prints the results. */
export function serverMatrix(title: string, columns: readonly Column[]): void {
  const passed = new Set<string>();
  const rows = features.filter(({ has }) => columns.some(({ peer }) => has(peer))).map(({ name }) => name);

  afterAll(() => {
    const headings = columns.map(({ heading }) => heading);
    console.info(table(`our client: ${title}`, rows, headings, passed));
  });

  describe.each(columns.map((column) => [column.heading, column] as const))('%s', (_heading, column) => {
    const { heading, peer, revision, options, start } = column;
    const wanted = features.filter(({ has }) => has(peer));
    let client: OfficialClient;
    let stop: (() => Promise<unknown>) | undefined;

    beforeAll(async () => {
      const server = await start();
      ({ stop } = server);
      client = await ourClient(server.target, options);
      expect(client.revision).toBe(revision);
    });

    afterAll(async () => {
      await client?.close();
      await stop?.();
    });

    test.each(wanted.map((feature) => [feature.name, feature] as const))('%s', async (name, { run }) => {
      await run(client, peer);
      passed.add(`${name}|${heading}`);
    });

    test('the client reports no error', () => {
      expect(client.errors).toEqual([]);
    });
  });
}
