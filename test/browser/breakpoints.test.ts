import type { Locator, Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { AXE, expectAccess, WINDOWS } from './support/axe.ts';
import { describeInBrowser } from './support/browser.ts';
import { explore, exploreServer, tool } from './support/explore.ts';
import type { Script } from './support/scripted-server.ts';
import { WirePage } from './support/wire.ts';
import { node } from '../support/command-line.ts';
import { featureServer } from '../support/features.ts';
import { programs } from '../support/process.ts';

const script: Script = ({ method, params }) =>
  method === 'tools/list'
    ? { tools: [{ ...tool('echo'), inputSchema: { type: 'object', properties: { text: { type: 'string' } } } }] }
    : { content: [{ type: 'text', text: `got ${JSON.stringify(params['arguments'])}` }] };

const screen = (page: Page, name: string): Promise<void> =>
  page.getByRole('tablist', { name: 'Screens' }).getByRole('tab', { name }).click();

const ruleFilter = (page: Page): Locator => page.getByRole('textbox', { name: 'Filter' });

/** A server with one tool, which answers with a text. */
const answering =
  (text: string): Script =>
  ({ method }) =>
    method === 'tools/list' ? { tools: [tool('say')] } : { content: [{ type: 'text', text }] };

/** Holds all results, and shows Explore again. */
async function holdResults(page: Page): Promise<void> {
  await screen(page, 'Breakpoints');
  await ruleFilter(page).fill('kind:result');
  await page.keyboard.press('Enter');
  await page.getByText('0 matched').waitFor();
  await screen(page, 'Explore');
}

/** Selects the first record that a filter shows. */
async function select(page: Page, filter: string): Promise<void> {
  const wire = new WirePage(page);
  await wire.filter.fill(filter);
  await wire.rows().first().click();
}

describeInBrowser('breakpoints', (browser) => {
  test('of many messages that are held, the oldest are shown', async () => {
    const { page, call, misdeeds } = await explore(browser(), ({ method, notify }) => {
      if (method === 'tools/list') return { tools: [tool('log')] };
      const data = Array.from({ length: 300 }, (_, at) => at);
      if (method === 'tools/call')
        for (let n = 0; n < 60; n += 1) notify('notifications/message', { level: 'info', data });
      return { content: [] };
    });
    await screen(page, 'Breakpoints');
    await ruleFilter(page).fill('kind:notification');
    await page.keyboard.press('Enter');
    await page.getByText('0 matched').waitFor();
    await screen(page, 'Explore');
    await call.click();
    await page.getByRole('tab', { name: 'Breakpoints 60 held' }).click();
    await page.getByText('60 messages are held').waitFor();
    const cards = page.locator('[data-held]');
    expect(await cards.count()).toBe(10);
    await page.getByText('50 newer messages are not shown.').waitFor();
    await page.getByRole('button', { name: 'Show 10 more' }).click();
    await expect.poll(() => cards.count()).toBe(20);
    await page.getByRole('button', { name: 'Forward all' }).click();
    await page.getByText('No messages are held.').waitFor();
    expect(misdeeds).toEqual([]);
  });

  test('a message is edited with escapes for what would be hidden', async () => {
    const { page, call, result, misdeeds } = await explore(browser(), answering('a\u202Eb'));
    await holdResults(page);
    await call.click();
    await page.getByRole('tab', { name: 'Breakpoints 1 held' }).click();
    const card = page.locator('[data-held]');
    await card.getByRole('button', { name: 'Edit', exact: true }).click();
    await expect.poll(() => card.getByLabel('Message').inputValue()).toContain('"text": "a\\u202eb"');
    await card.getByRole('button', { name: 'Forward edited' }).click();
    await screen(page, 'Explore');
    await result.getByText('a\\u202eb').waitFor();
    expect(misdeeds).toEqual([]);
  });

  test.each([
    ['of very many characters', 'x'.repeat(250_000)],
    ['whose text changes its direction very often', 'a\u0639'.repeat(25_000)],
  ])('a message %s is not edited', async (_, text) => {
    const { page, call, result, misdeeds } = await explore(browser(), answering(text));
    await holdResults(page);
    await call.click();
    await page.getByRole('tab', { name: 'Breakpoints 1 held' }).click();
    const card = page.locator('[data-held]');
    await card.getByRole('button', { name: 'Edit', exact: true }).click();
    await card.getByRole('alert').getByText('This message is too large to be edited here.').waitFor();
    await card.getByRole('button', { name: 'Forward', exact: true }).click();
    await screen(page, 'Explore');
    await result.getByRole('status').getByText(/after/).waitFor();
    expect(misdeeds).toEqual([]);
  });

  test('a person sets a rule, edits what it holds, and lets it go, with the keyboard', async () => {
    const { page, choose, call, result, misdeeds } = await explore(browser(), script);
    await screen(page, 'Breakpoints');
    await ruleFilter(page).fill('tool:echo kind:request');
    await page.keyboard.press('Enter');
    await page.getByText('0 matched').waitFor();
    await screen(page, 'Explore');
    await choose('echo');
    await call.click();
    const tab = page.getByRole('tab', { name: 'Breakpoints 1 held' });
    await tab.waitFor();
    // The key for a screen, and then the keys of the held message.
    await page.locator('h1').click();
    await page.keyboard.press('g');
    await page.keyboard.press('b');
    const card = page.getByRole('article', { name: 'Request: tools/call echo' });
    await expect.poll(() => card.textContent()).toMatch(/Held \d+\.\d s/);
    await expect.poll(() => card.textContent()).toMatch(/the time limit of this page’s call ends it in \d+\.\d s/);
    // A person sees what is held before they decide.
    expect(await card.getByText('to the server').count()).toBe(1);
    await expect
      .poll(() => card.getByRole('tree', { name: 'Content' }).textContent())
      .toMatch(/method.*tools\/call.*echo/);
    await page.keyboard.press('e');
    const editor = card.getByLabel('Message');
    await expect.poll(() => editor.inputValue()).toMatch(/"name": "echo"/);
    await editor.fill('{"method":"tools/call"');
    await card.getByRole('button', { name: 'Forward edited' }).click();
    await card.getByRole('alert').getByText('line 1, column 23').waitFor();
    await editor.fill('{"method":"tools/call","params":{"name":"echo","arguments":{"text":"edited"}}}');
    await card.getByRole('button', { name: 'Forward edited' }).press('Enter');
    await page.getByText('No messages are held.').waitFor();
    await screen(page, 'Explore');
    await result.getByText('got {"text":"edited"}').waitFor();
    expect(misdeeds).toEqual([]);
  });

  test('of a huge message, a person sees the beginning, with nothing hidden and nothing run', async () => {
    const evil = `<img src=x onerror=alert(1)>\u202e${'x'.repeat(1_000_000)}`;
    const answer: Script = (request) =>
      request.method === 'tools/call' ? { content: [{ type: 'text', text: evil }] } : script(request);
    const { page, choose, call, misdeeds } = await explore(browser(), answer);
    await screen(page, 'Breakpoints');
    await ruleFilter(page).fill('tool:echo kind:result');
    await page.keyboard.press('Enter');
    await page.getByText('0 matched').waitFor();
    await screen(page, 'Explore');
    await choose('echo');
    await call.click();
    await page.getByRole('tab', { name: 'Breakpoints 1 held' }).click();
    const card = page.getByRole('article', { name: 'Result: tools/call echo' });
    await card.getByText(/^The first 20000 of 1000\d{3} characters/).waitFor();
    const content = card.getByLabel('Content');
    expect(await content.textContent()).toContain('<img src=x onerror=alert(1)>');
    expect(await content.textContent()).not.toContain('\u202e');
    expect((await content.textContent())!.length).toBeLessThan(21_000);
    await card.getByRole('button', { name: 'Forward', exact: true }).click();
    await page.getByText('No messages are held.').waitFor();
    expect(misdeeds).toEqual([]);
  });

  test('a person breaks on messages like a record of the wire, and answers by hand', async () => {
    const { page, choose, call, result, misdeeds } = await explore(browser(), script);
    await choose('echo');
    await call.click();
    await result.getByText('got').waitFor();
    await screen(page, 'Wire');
    await select(page, 'method:tools/call kind:request');
    await page.getByRole('button', { name: 'Break on messages like this' }).click();
    await page.getByText('method:tools/call tool:echo kind:request dir:c>s').waitFor();
    await screen(page, 'Explore');
    await call.click();
    await page.getByRole('tab', { name: 'Breakpoints 1 held' }).click();
    const card = page.getByRole('article');
    await card.getByRole('button', { name: 'Answer' }).click();
    await card.getByLabel(/^Answer/).fill('{"result":{"content":[{"type":"text","text":"by hand"}]}}');
    await card.getByRole('button', { name: 'Send answer' }).click();
    await screen(page, 'Explore');
    await result.getByText('by hand').waitFor();
    expect(misdeeds).toEqual([]);
  });

  test('a person edits a request of the wire and sends it again, invalid on purpose', async () => {
    const listener = await featureServer().listen({ port: 0 });
    onTestFinished(() => listener.close());
    const { page, misdeeds } = await exploreServer(browser(), listener.url);
    await screen(page, 'Wire');
    await select(page, 'method:tools/list kind:request');
    await page.getByRole('button', { name: 'Edit and resend' }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit and resend' });
    expect(await dialog.getByLabel('Request line and headers').inputValue()).toMatch(/^POST \//);
    await dialog.getByLabel('Body').fill('{"jsonrpc":"2.0","id":"again",');
    await dialog.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('Sent. The answer appears in Wire.').waitFor();
    await select(page, 'kind:error "Parse error"');
    expect(misdeeds).toEqual([]);
  });

  test('a line of a command is sent again', async () => {
    const { page, misdeeds } = await exploreServer(browser(), {
      command: node,
      args: [...programs.features, '--stdio'],
    });
    await screen(page, 'Wire');
    await select(page, 'method:tools/list kind:request');
    await page.getByRole('button', { name: 'Edit and resend' }).click();
    await page.getByLabel('Line').fill('{"jsonrpc":"2.0","id":"again","method":"ping"}');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await select(page, 'id:again dir:s>c');
    expect(misdeeds).toEqual([]);
  });

  describe('axe finds nothing, dark or light, and nothing is cut off', () => {
    test.each(WINDOWS)('at $size', async ({ viewport, zoom }) => {
      const options = { viewport, deviceScaleFactor: zoom, bypassCSP: true };
      const { page, choose, call, misdeeds } = await explore(browser(), script, options);
      await page.evaluate(AXE);
      await screen(page, 'Breakpoints');
      await expectAccess(page, 'no rules');
      const filter = ruleFilter(page);
      for (const text of ['tool:echo kind:request', `tool:${'a-long-name'.repeat(20)}`]) {
        await filter.fill(text);
        await filter.press('Enter');
        await expect.poll(() => filter.inputValue()).toBe('');
      }
      await filter.fill('method:');
      await filter.press('Enter');
      await page.getByRole('alert').waitFor();
      await screen(page, 'Explore');
      await choose('echo');
      await call.click();
      await page.getByRole('tab', { name: 'Breakpoints 1 held' }).click();
      await page.getByRole('button', { name: 'Answer' }).click();
      await expectAccess(page, 'a held message');
      if (process.env['SHOTS'])
        await page.screenshot({ path: `${process.env['SHOTS']}/held-${viewport.width}.png`, fullPage: true });
      await screen(page, 'Wire');
      await select(page, 'method:tools/list kind:request');
      await page.getByRole('button', { name: 'Edit and resend' }).click();
      await page.getByRole('dialog', { name: 'Edit and resend' }).waitFor();
      await expectAccess(page, 'the dialog');
      if (process.env['SHOTS']) await page.screenshot({ path: `${process.env['SHOTS']}/resend-${viewport.width}.png` });
      expect(misdeeds).toEqual([]);
    });
  });
});
