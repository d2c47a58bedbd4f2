import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { AXE, expectAccess, WINDOWS } from './support/axe.ts';
import { describeInBrowser } from './support/browser.ts';
import { explore, exploreServer, tool } from './support/explore.ts';
import type { Script } from './support/scripted-server.ts';
import { WirePage } from './support/wire.ts';
import { connect } from '../../src/client/connect.ts';
import { Capture } from '../../src/inspect/capture.ts';
import { recordToFile } from '../../src/inspect/record-to-file.ts';
import { McpServer } from '../../src/server/index.ts';

/** Hostile, to be shown and exported. */
const HOSTILE = '<img src=x onerror=alert(1)> it`s';
const text = { type: 'object', properties: { text: { type: 'string' } } };

const echo: Script = ({ method, params }) =>
  method === 'tools/list'
    ? { tools: [tool('echo', { inputSchema: text })] }
    : { content: [{ type: 'text', text: `${HOSTILE} ${params['arguments'].text}` }] };

const screen = (page: Page, name: string): Promise<void> =>
  page.getByRole('tablist', { name: 'Screens' }).getByRole('tab', { name, exact: true }).click();

/** Exports what a person chooses, and returns the file. */
async function exported(page: Page, records: RegExp, form: RegExp): Promise<{ name: string; content: string }> {
  await page.getByRole('button', { name: 'Export', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Export' });
  // Its code is loaded when it is first shown.
  await dialog.waitFor();
  const choose = async (label: string, option: RegExp): Promise<void> => {
    const select = dialog.getByLabel(label);
    const found = (await select.locator('option').allTextContents()).find((each) => option.test(each));
    await select.selectOption({ label: found! });
  };
  await choose('Records', records);
  await choose('Format', form);
  const downloaded = page.waitForEvent('download');
  await dialog.getByRole('button', { name: 'Export' }).click();
  const download = await downloaded;
  await dialog.waitFor({ state: 'detached' });
  return { name: download.suggestedFilename(), content: readFileSync(await download.path(), 'utf8') };
}

/** Compares two recordings on the screen Compare. */
async function compareFiles(page: Page, before: string, after: string): Promise<void> {
  for (const [name, file] of [
    ['First session', before],
    ['Second session', after],
  ] as const)
    await page.getByRole('group', { name }).getByLabel('File').setInputFiles(file);
  await page.getByRole('button', { name: 'Compare', exact: true }).click();
}

/** A server whose tool answers with this, and a recording of a session with it. */
async function recordedSession(answer: string, calls = 1): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), 'everwire-compare-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'session.mcpcap');
  const listener = await serverOf(answer).listen({ port: 0 });
  const capture = new Capture();
  const recording = await recordToFile(capture, file, { onerror: () => {} });
  const client = await connect(listener.url, { wiretap: capture, revision: '2025-11-25' });
  await client.listTools();
  await client.callTool('say', { to: HOSTILE });
  for (let n = 1; n < calls; n += 1) await client.callTool('say', { n });
  await client.callTool('change');
  await client.close();
  await recording.close();
  await listener.close();
  return file;
}

function serverOf(answer: string): McpServer {
  const server = new McpServer({ name: 'compared', version: '1.0.0' });
  server.tool('say', { annotations: { readOnlyHint: true } }, () => answer);
  server.tool('change', {}, () => 'changed');
  return server;
}

describeInBrowser('comparisons and exports', (browser) => {
  test('the calls that are shown are exported in each form, without secrets', async () => {
    const { page, call, result, misdeeds } = await explore(browser(), echo);
    const input = page.getByRole('textbox', { name: 'text', exact: true });
    for (const word of ['first', 'password=planted-secret second']) {
      await input.fill(word);
      await call.click();
      await result.getByText(word).waitFor();
    }
    await screen(page, 'Wire');
    const wire = new WirePage(page);
    await wire.filter.fill('tool:echo second kind:result');
    await expect.poll(() => wire.rows().count()).toBe(1);
    const har = await exported(page, /shown/, /HAR/);
    expect(har.name).toBe('session.har');
    const { entries } = (
      JSON.parse(har.content) as {
        log: { entries: { request: { postData: { text: string } }; response: { content: { text: string } } }[] };
      }
    ).log;
    expect(entries.map(({ request }) => request.postData.text)).toEqual([expect.stringContaining('second')]);
    expect(entries[0]!.response.content.text).toContain('onerror');
    const html = await exported(page, /shown/, /HTML/);
    expect(html.content).toContain('second');
    expect(html.content).not.toContain('<img');
    expect(html.content).not.toContain('tools/list');
    const curl = await exported(page, /shown/, /curl/);
    expect(curl.content.match(/^curl /gm)).toHaveLength(1);
    const vitest = await exported(page, /All/, /Vitest/);
    expect(vitest.content.match(/^test\(/gm)!.length).toBeGreaterThan(2);
    for (const { content } of [har, html, curl, vitest]) expect(content).not.toContain('planted-secret');
    await wire.rows().first().click();
    const selected = await exported(page, /call of record/, /HTML/);
    expect(selected.content).toContain('second');
    expect(selected.content).not.toContain('first');
    expect(misdeeds).toEqual([]);
  });

  test('what has no HTTP becomes no HAR', async () => {
    const { page, misdeeds } = await exploreServer(browser(), { command: process.execPath, args: ['-e', STDIO] });
    await screen(page, 'Wire');
    await page.getByRole('button', { name: 'Export', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Export' });
    await dialog.getByLabel('Format').selectOption('har');
    await dialog.getByRole('button', { name: 'Export' }).click();
    await dialog.getByRole('alert').getByText('The selection has no HTTP').waitFor();
    expect(misdeeds).toEqual([]);
  });

  test('two calls are compared side by side, with the keyboard', async () => {
    const { page, call, result, misdeeds } = await explore(browser(), echo);
    const input = page.getByRole('textbox', { name: 'text', exact: true });
    for (const word of ['one', 'two']) {
      await input.fill(word);
      await call.click();
      await result.getByText(word).waitFor();
    }
    await screen(page, 'Wire');
    const wire = new WirePage(page);
    await wire.filter.fill('tool:echo kind:result');
    await expect.poll(() => wire.rows().count()).toBe(2);
    await wire.rows().first().click();
    await page.keyboard.press('d');
    await page.getByText(/is chosen\. Select another one/).waitFor();
    await wire.rows().last().click();
    await page.getByRole('button', { name: /^Compare with #/ }).waitFor();
    await page.keyboard.press('d');
    const answer = page.getByRole('region', { name: 'Answer', exact: true });
    const row = answer.getByRole('row', { name: /result\/content\/0\/text/ });
    await row.waitFor();
    expect(await row.getByRole('cell').allTextContents()).toEqual([`"${HOSTILE} one"`, `"${HOSTILE} two"`]);
    const request = page.getByRole('region', { name: 'Request', exact: true });
    await request.getByRole('row', { name: /params\/arguments\/text/ }).waitFor();
    expect(await request.getByRole('tree').count()).toBe(2);
    await page.getByRole('button', { name: /^Second: record/ }).click();
    await expect.poll(() => wire.rows().last().getAttribute('aria-selected')).toBe('true');
    expect(misdeeds).toEqual([]);
  });

  test('a recording is replayed against the connected server, and compared with another one', async () => {
    const [before, after] = [await recordedSession('before'), await recordedSession('after')];
    const listener = await serverOf('after').listen({ port: 0 });
    onTestFinished(() => listener.close());
    const { page, misdeeds } = await exploreServer(browser(), listener.url);
    await screen(page, 'Compare');
    const side = (name: string) => page.getByRole('group', { name });
    const report = page.getByRole('region', { name: 'Report' });
    await side('First session').getByLabel('File').setInputFiles(before);
    await side('Second session').getByLabel('From').selectOption('replay');
    await page.getByRole('button', { name: 'Replay and compare' }).click();
    await report.getByText('Both sessions: 1 of 3 requests differs (2 same, 1 changed, 0 missing, 0 new)').waitFor();
    await report.getByText(/tools\/call change \(record \d+\): the tool is not marked as read-only/).waitFor();
    const args = report.getByRole('tree', { name: 'Arguments: tools/call say' });
    expect(await args.textContent()).toContain(HOSTILE);
    const cells = report.getByRole('row', { name: /content\/0\/text/ }).getByRole('cell');
    await expect.poll(() => cells.allTextContents()).toEqual(['"before"', '"after"']);
    await page.getByLabel(/^Tools to call/).fill('ch*');
    await page.getByLabel(/^Differences to ignore/).fill('/content/*/text');
    await page.getByRole('button', { name: 'Replay and compare' }).click();
    await report.getByText('Both sessions: no differences in 4 requests (4 same').waitFor();
    // The records of the replay are in Wire, and the session in Wire can be compared.
    await side('Second session').getByLabel('From').selectOption('wire');
    await page.getByLabel(/^Differences to ignore/).fill('');
    await page.getByRole('button', { name: 'Compare', exact: true }).click();
    await report.getByText(/requests differ/).waitFor();
    await side('Second session').getByLabel('From').selectOption('file');
    await side('Second session').getByLabel('File').setInputFiles(after);
    await page.getByRole('button', { name: 'Compare', exact: true }).click();
    await report.getByText('1 of 4 requests differs (3 same, 1 changed, 0 missing, 0 new)').waitFor();
    expect(misdeeds).toEqual([]);
    await side('First session')
      .getByLabel('File')
      .setInputFiles({
        name: 'no.mcpcap',
        mimeType: 'text/plain',
        buffer: Buffer.from(HOSTILE),
      });
    await page.getByRole('button', { name: 'Compare', exact: true }).click();
    await page.getByRole('alert').getByText('The first session cannot be used: the recording, line 1').waitFor();
  });

  test('of many requests that differ, the first are shown', async () => {
    const [before, after] = [await recordedSession('before', 35), await recordedSession('after', 35)];
    const { page, misdeeds } = await explore(browser(), echo);
    await screen(page, 'Compare');
    await compareFiles(page, before, after);
    const report = page.getByRole('region', { name: 'Report' });
    await report.getByText('35 of 38 requests differ').waitFor();
    expect(await report.getByRole('table').count()).toBe(10);
    await report.getByRole('button', { name: 'Show 10 more' }).click();
    await expect.poll(() => report.getByRole('table').count()).toBe(20);
    expect(misdeeds).toEqual([]);
  });

  test.each(WINDOWS)('pass axe at $size', async ({ viewport, zoom }) => {
    const context = { viewport, deviceScaleFactor: zoom, bypassCSP: true };
    const [before, after] = [await recordedSession('before'), await recordedSession(`after ${'long'.repeat(50)}`)];
    const { page, choose, call, result } = await explore(browser(), echo, context);
    const shot = async (name: string): Promise<void> => {
      const folder = process.env['SHOTS'];
      if (folder) await page.screenshot({ path: `${folder}/${name}-${viewport.width}.png`, fullPage: true });
    };
    await page.evaluate(AXE);
    await choose('echo');
    await page.getByRole('textbox', { name: 'text', exact: true }).fill('x');
    await call.click();
    await result.getByText(HOSTILE).waitFor();
    await screen(page, 'Compare');
    await page.getByRole('heading', { name: 'Sessions' }).waitFor();
    await expectAccess(page, 'nothing to compare');
    await compareFiles(page, before, after);
    await page.getByRole('region', { name: 'Report' }).waitFor();
    await screen(page, 'Wire');
    const wire = new WirePage(page);
    for (const row of [wire.rows().first(), wire.rows().last()]) {
      await row.click();
      await page.getByRole('button', { name: /^Compare/ }).click();
    }
    await page.getByRole('heading', { name: 'Records' }).waitFor();
    await expectAccess(page, 'a comparison');
    await shot('compare');
    await screen(page, 'Wire');
    await page.getByRole('button', { name: 'Export', exact: true }).click();
    await page.getByRole('dialog').waitFor();
    await expectAccess(page, 'the export');
    await shot('export');
  });
});

/** A server over stdio without tools. */
const STDIO = `
  process.stdin.setEncoding('utf8');
  let rest = '';
  process.stdin.on('data', (text) => {
    const lines = (rest + text).split('\\n');
    rest = lines.pop();
    for (const line of lines) {
      const { id, method } = JSON.parse(line);
      const serverInfo = { name: 'stdio', version: '1' };
      const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo, tools: [] };
      const error = { code: -32601, message: 'Method not found' };
      const answer = method === 'server/discover' ? { error } : { result };
      if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
    }
  });`;
