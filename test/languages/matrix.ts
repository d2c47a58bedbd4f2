import timers from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OfficialClient } from '../interop/clients.ts';
import { featureServer } from '../interop/peers.ts';
import { openCell, type Cell } from './cell.ts';
import { CONNECTION, REPORTED, featuresOf, findingOf, headingOf, type Language } from './language.ts';
import { matrixTable } from './table.ts';
import { isHere } from './toolchains.ts';

/** Tests every row of a language, and prints what passed. A feature with a finding has to fail as the finding says. */
export function languageMatrix(language: Language): void {
  const { name, rows, toolchain, differs } = language;
  const passed = new Set<string>();

  describe.skipIf(!isHere(toolchain))(name, () => {
    afterAll(() => {
      const table = matrixTable([language], (row, feature) => passed.has(`${headingOf(row)}|${feature}`));
      console.info(`${name}:\n${table}`);
    });

    const refused = rows.flatMap((row) => {
      const finding = findingOf(language, row, CONNECTION);
      return finding ? [[headingOf(row), row, finding] as const] : [];
    });
    test.each(refused)('%s does not connect', async (_, row, { fails }) => {
      await expect(openCell(language, row)).rejects.toThrow(fails);
    });

    const connected = rows.filter((row) => findingOf(language, row, CONNECTION) === undefined);
    describe.each(connected.map((row) => [headingOf(row), row] as const))('%s', (heading, row) => {
      const features = featuresOf(language, row).map((feature) => {
        const { name: title, run } = feature;
        return { title, run, finding: findingOf(language, row, title) };
      });
      const server = row.peer === 'server' ? { ...featureServer, ...differs } : featureServer;
      let cell: Cell;

      beforeAll(async () => {
        cell = await openCell(language, row);
        const { peer, revision, across = revision } = row;
        expect(cell.client.revision).toBe(peer === 'client' ? revision : across);
      });

      afterAll(async () => {
        await cell?.close();
      });

      test.each(features.filter(({ finding }) => finding === undefined))('$title', async ({ title, run }) => {
        await run(cell.client, server);
        passed.add(`${heading}|${title}`);
      });

      test.each(features.filter(({ finding }) => finding !== undefined))(
        '$title: $finding.what',
        async ({ run, finding }) => {
          const over = new AbortController();
          const done = run(impatient(cell.client, over.signal), { ...server, patience: 1000 });
          try {
            await expect(soon(done)).rejects.toThrow(finding!.fails);
          } finally {
            // A call that is still in flight could change how the next feature works.
            over.abort(new Error('over'));
            await cell.client.alive();
          }
        },
      );

      const reported = findingOf(language, row, REPORTED);
      test(reported ? `the client reports an error: ${reported.what}` : 'the client reports no error', () => {
        const messages = cell.client.errors.map(({ message }) => message);
        expect(messages).toHaveLength(reported ? 1 : 0);
        expect(messages.join()).toMatch(reported?.fails ?? /^$/);
      });
    });
  });
}

/** Waits only a second for a notification, because none is expected. Its calls end with the signal. */
function impatient(client: OfficialClient, signal: AbortSignal): OfficialClient {
  return {
    ...client,
    callTool: (call, options) => {
      const both = options?.signal ? AbortSignal.any([options.signal, signal]) : signal;
      return client.callTool(call, { ...options, signal: both });
    },
    notice: (method, fits, from) => client.notice(method, fits, from, 1000),
  };
}

/** Waits three seconds for what may never end. */
async function soon(run: Promise<void>): Promise<void> {
  const waited = new AbortController();
  const end = timers.setTimeout(3000, undefined, { signal: waited.signal }).then(() => {
    throw new Error('no end within three seconds');
  });
  try {
    await Promise.race([run, end]);
  } finally {
    waited.abort();
    end.catch(() => {});
    run.catch(() => {});
  }
}
