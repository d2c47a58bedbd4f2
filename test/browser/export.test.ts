import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/client/connect.ts';
import { harLog } from '../../src/export/har.ts';
import { Masks } from '../../src/export/masks.ts';
import { htmlPage } from '../../src/export/page.ts';
import { recordedWire, type RecordedWire } from '../../src/export/recorded-wire.ts';
import { Capture, readRecording, recordToFile } from '../../src/inspect/index.ts';
import { McpServer } from '../../src/server/index.ts';
import { describeInBrowser } from './support/browser.ts';

const HOSTILE = '</pre><img src=https://example.com/x onerror=alert(1)><script>alert(2)</script>';

describeInBrowser('an export', (browser) => {
  const folder = (): string => {
    const made = mkdtempSync(path.join(tmpdir(), 'everwire-export-'));
    onTestFinished(() => rmSync(made, { recursive: true }));
    return made;
  };

  async function recorded(): Promise<{ wire: RecordedWire; url: string; started: string }> {
    const file = path.join(folder(), 'session.mcpcap');
    const server = new McpServer({ name: 'hostile', version: '1.0.0' });
    server.tool('say', { description: HOSTILE }, () => HOSTILE);
    const listener = await server.listen({ port: 0 });
    const capture = new Capture();
    const recording = await recordToFile(capture, file, { onerror: () => {} });
    const client = await connect(listener.url, { wiretap: capture, revision: '2026-07-28' });
    await client.listTools();
    await client.callTool('say');
    await client.close();
    await recording.close();
    await listener.close();
    const read = await readRecording(file);
    return { wire: await recordedWire(read), url: listener.url, started: read.header.started };
  }

  test('as a page needs no network, and runs nothing of a peer', async () => {
    const { wire, started } = await recorded();
    const file = path.join(folder(), 'session.html');
    writeFileSync(file, await htmlPage(wire, `session ${HOSTILE}`, started, new Masks(wire)));
    const context = await browser().newContext({ offline: true, colorScheme: 'dark' });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    const misdeeds: string[] = [];
    page.on('console', (message) => misdeeds.push(message.text()));
    page.on('pageerror', (error) => misdeeds.push(error.message));
    page.on('dialog', (dialog) => {
      misdeeds.push(dialog.message());
      void dialog.dismiss();
    });
    page.on('request', (request) => {
      if (!/^(file|data):/.test(request.url())) misdeeds.push(request.url());
    });
    await page.goto(pathToFileURL(file).href);
    expect(await page.locator('details').count()).toBe(wire.parts.length);
    await page.getByRole('searchbox').fill('tools/call');
    await expect.poll(() => page.locator('details:visible').count()).toBeLessThan(wire.parts.length);
    const call = page.locator('details:visible').filter({ hasText: 'tools/call say' }).last();
    await call.locator('summary').click();
    expect(await call.locator('pre').innerText()).toContain('"method": "tools/call"');
    expect(await page.locator('img').count()).toBe(0);
    expect(misdeeds).toEqual([]);
  });

  test('as HAR answers in place of the server', async () => {
    const { wire, url, started } = await recorded();
    const file = path.join(folder(), 'session.har');
    writeFileSync(file, harLog(wire.exchanges, started, new Masks(wire)));
    const context = await browser().newContext();
    onTestFinished(() => context.close());
    await context.routeFromHAR(file, { url, notFound: 'abort' });
    const page = await context.newPage();
    const home = new URL('/home', url).href;
    await page.route(home, (route) => route.fulfill({ contentType: 'text/html', body: '<p>home</p>' }));
    await page.goto(home);
    const { body } = wire.exchanges.find((each) => each.body.includes('tools/call'))!;
    const answer = await page.evaluate(
      async ([endpoint, text]) => (await fetch(endpoint!, { method: 'POST', body: text! })).text(),
      [url, body],
    );
    expect(answer).toContain('onerror=alert(1)');
  });
});
