import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { describeInBrowser, openAddress } from './support/browser.ts';
import { PAIRS } from '../interop/bridge-matrix/kinds.ts';
import { startUpstream } from '../interop/bridge-matrix/upstreams.ts';
import { startEverwire, temporaryFolder } from '../support/command-line.ts';

const SHOWN = { stdio: 'stdio', http: 'streamable-http', sse: 'sse' } as const;

describeInBrowser('the printed address leads', (browser) => {
  test('with no setting to the tools of an official server, of each revision over each transport', async () => {
    expect(PAIRS).toHaveLength(14);
    const mcpServers: Record<string, object> = {};
    for (const pair of PAIRS) {
      const { target, stop } = await startUpstream(pair);
      onTestFinished(async () => void (await stop()));
      mcpServers[`${pair.revision} ${pair.transport}`] = typeof target === 'string' ? { url: target } : target;
    }
    const config = path.join(temporaryFolder(), 'mcp.json');
    writeFileSync(config, JSON.stringify({ mcpServers }));
    const child = startEverwire(['inspect', '--no-open', '--port', '0', '--config', config]);
    const [, address] = await child.line(/inspector on (http:\S+)/);
    const { page, misdeeds } = await openAddress(browser(), address!);
    const banner = page.getByRole('banner');
    for (const { revision, transport } of PAIRS) {
      await page.getByRole('button', { name: new RegExp(`^${revision} ${transport}`) }).click();
      await page.getByRole('list', { name: 'tools' }).getByRole('button', { name: /echo/i }).click();
      for (const text of ['Connected', revision, SHOWN[transport]])
        await banner.getByText(text, { exact: true }).waitFor();
      await page.getByRole('textbox', { name: 'word' }).fill(transport);
      await page.getByRole('button', { name: 'Call', exact: true }).click();
      await page.getByRole('region', { name: 'Result' }).getByText(`{"word":"${transport}"}`).waitFor();
      await page.getByRole('tab', { name: 'Server' }).click();
      await page.getByRole('button', { name: 'Disconnect' }).click();
    }
    expect(misdeeds).toEqual([]);
  });
});
