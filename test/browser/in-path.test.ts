import { expect, test } from 'vitest';
import { describeInBrowser, openAddress } from './support/browser.ts';
import { compareBytes, WirePage } from './support/wire.ts';
import { sha256 } from '../support/captured.ts';
import { node, temporaryFolder } from '../support/command-line.ts';
import { programs } from '../support/process.ts';
import { connectTo, END, features, logged, officialClient, use } from '../support/teed.ts';

const VERSIONS = ['1.x', '2.x'] as const;

/** The hashes of the messages that the selected rows show, one after the other. */
async function hashes(wire: WirePage, filter: string, count: number): Promise<string[]> {
  await wire.filter.fill(filter);
  await expect.poll(() => wire.rows().count()).toBe(count);
  const found: string[] = [];
  for (const row of await wire.rows().all()) {
    await wire.open(row, 'Bytes');
    found.push((await wire.bytes()).hash);
  }
  return found;
}

describeInBrowser('in the path of official clients', (browser) => {
  test.each(VERSIONS)('%s, the rows of a bridge are what both ends have logged', async (version) => {
    const [ours, theirs] = [temporaryFolder(), temporaryFolder()];
    const server = [node, ...programs.tee, theirs, ...features];
    const bridge = [...programs.everwire, 'bridge', '--inspect', '--inspect-port', '0', '--stdio', '--', ...server];
    const client = officialClient(version);
    const { printed } = await connectTo(client, version, [node, ...programs.tee, ours, node, ...bridge]);
    const { page, misdeeds } = await openAddress(browser(), await printed);
    await use(client);
    const wire = new WirePage(page);
    for (const [side, folder] of [
      ['client', ours],
      ['server', theirs],
    ] as const) {
      // Each side has one connection, whose rows say which side it is.
      await wire.filter.fill(END);
      const conn = await wire
        .rows(new RegExp(`\\d ${side}`))
        .first()
        .locator('.w-conn')
        .textContent();
      const log = logged(folder);
      for (const [dir, lines] of [
        ['c>s', log.client],
        ['s>c', log.server],
      ] as const) {
        const filter = `layer:message conn:${parseInt(conn!, 10)} dir:${dir}`;
        expect(await hashes(wire, filter, lines.length)).toEqual(lines.map(sha256));
      }
    }
    expect(misdeeds).toEqual([]);
  });

  test.each(VERSIONS)('%s, both ends get the same bytes with --through as without it', async (version) => {
    /** What both ends log, and the address of the page. */
    const run = async (...through: string[]) => {
      const [ours, theirs] = [temporaryFolder(), temporaryFolder()];
      const client = officialClient(version);
      const server = [...through, node, ...programs.tee, theirs, ...features];
      const { printed } = await connectTo(client, version, [node, ...programs.tee, ours, ...server]);
      await use(client);
      return { printed, logs: { ours: logged(ours), theirs: logged(theirs) } };
    };
    const direct = await run();
    const { printed, logs } = await run(node, ...programs.everwire, 'inspect', '--through', '--');
    expect(logs).toEqual(direct.logs);
    const { page, misdeeds } = await openAddress(browser(), await printed);
    const wire = new WirePage(page);
    await compareBytes(wire, 'c>s', Buffer.from(logs.ours.client.map((line) => `${line}\n`).join('')));
    await compareBytes(wire, 's>c', Buffer.from(logs.theirs.server.map((line) => `${line}\n`).join('')));
    expect(misdeeds).toEqual([]);
  });

  test('a person holds a request of a host and edits it on its way to the command', async () => {
    const client = officialClient('1.x');
    const { printed } = await connectTo(client, '1.x', [
      ...[node, ...programs.everwire, 'inspect', '--through', '--'],
      ...features,
    ]);
    const { page, misdeeds } = await openAddress(browser(), await printed);
    await page.getByRole('tab', { name: /^Breakpoints/ }).click();
    await page.getByRole('textbox', { name: 'Filter' }).fill('tool:echo kind:request');
    await page.getByRole('button', { name: 'Add rule' }).click();
    await page.getByText('0 matched').waitFor();
    const answer = client.callTool({ name: 'echo', arguments: { text: 'before' } });
    const card = page.getByRole('article', { name: 'Request: tools/call echo' });
    await card.getByText('the host').waitFor();
    await card.getByRole('button', { name: 'Edit' }).click();
    const editor = card.getByLabel('Message');
    await editor.fill((await editor.inputValue()).replace('before', 'edited'));
    await card.getByRole('button', { name: 'Forward edited' }).click();
    expect((await answer).content).toEqual([{ type: 'text', text: 'edited' }]);
    expect(misdeeds).toEqual([]);
  });
});
