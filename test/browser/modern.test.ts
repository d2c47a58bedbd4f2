import { expect, onTestFinished, test } from 'vitest';
import { describeInBrowser } from './support/browser.ts';
import { exploreServer, type InspectedPage } from './support/explore.ts';
import { WirePage } from './support/wire.ts';
import type { CommandTarget } from '../../src/client/target.ts';
import { McpServer } from '../../src/server/index.ts';
import { startUpstream } from '../interop/bridge-matrix/upstreams.ts';
import { VISIT_URL } from '../interop/bridge-matrix/shown.ts';

const REVISION = '2026-07-28';

interface CallSpan {
  readonly state: string;
  readonly parts: readonly string[];
  /** Whether other parts may follow. */
  readonly isOpen?: boolean;
}

/**
 * Expects what belongs to the newest call of a tool, as the tab Timing tells it. Other calls of the tool have spans of
 * their own. The records come on another stream than the result, and may come later.
 */
async function expectSpan({ page, tab }: InspectedPage, tool: string, expected: CallSpan): Promise<void> {
  const { state, parts, isOpen = false } = expected;
  await tab('Wire');
  const wire = new WirePage(page);
  await wire.filter.fill(`tool:${tool}`);
  const panel = await wire.open(wire.rows('request').last(), 'Timing');
  const shown = panel.getByRole('row').locator('td:nth-child(3)');
  await expect
    .poll(async () => (await shown.allTextContents()).slice(0, isOpen ? parts.length : undefined))
    .toEqual(parts);
  const first = panel.locator('dl').last().locator('dd').first();
  await expect.poll(() => first.textContent()).toBe(state);
  await tab('Explore');
}

describeInBrowser(`a server of ${REVISION}`, (browser) => {
  test.each(['http', 'stdio'] as const)('of the official SDK works on all screens, over %s', async (transport) => {
    const { target, stop } = await startUpstream({ revision: REVISION, transport, heading: '' });
    onTestFinished(async () => void (await stop()));
    const shown = await exploreServer(browser(), target as string | CommandTarget);
    const { page, tab, call, result, choose, misdeeds } = shown;
    const answers = page.getByRole('article');

    // A call, with its structured result.
    await choose('weather');
    await call.click();
    await result.getByRole('tree', { name: 'Structured content' }).getByText('sunny').waitFor();
    await expectSpan(shown, 'weather', { state: 'done', parts: ['request tools/call', 'result tools/call'] });

    // Questions: the result input_required, and the call again with the answer. All of it is one span.
    const asked = {
      state: 'done',
      parts: ['request', 'result', 'request', 'result'].map((kind) => `${kind} tools/call`),
    };
    await choose('ask');
    await call.click();
    await tab('Asked');
    await answers.getByRole('textbox', { name: 'Name' }).fill('Ada');
    await answers.getByRole('button', { name: 'Accept', exact: true }).click();
    await tab('Explore');
    await result.getByText('"content":{"name":"Ada"}').waitFor();
    await expectSpan(shown, 'ask', asked);
    await choose('visit');
    await call.click();
    await tab('Asked');
    await answers.getByText(VISIT_URL, { exact: true }).waitFor();
    await answers.getByRole('button', { name: 'Decline' }).click();
    await tab('Explore');
    await result.getByText('{"action":"decline"}').waitFor();
    await expectSpan(shown, 'visit', asked);
    await choose('sample');
    await call.click();
    await tab('Asked');
    await answers.getByRole('textbox', { name: 'Answer' }).fill('Something');
    await answers.getByRole('button', { name: 'Send answer' }).click();
    await tab('Explore');
    await result.getByText('"text":"Something"').waitFor();
    await expectSpan(shown, 'sample', asked);
    await tab('Asked');
    await tab('Roots');
    await page.getByRole('button', { name: 'Add root' }).click();
    await page.getByRole('textbox', { name: 'URI of root 1' }).fill('file:///home/ada');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => page.getByRole('button', { name: 'Discard' }).count()).toBe(0);
    await tab('Questions');
    await tab('Explore');
    await choose('roots');
    await call.click();
    await result.getByText('file:///home/ada').waitFor();
    await expectSpan(shown, 'roots', asked);

    // Progress, and a call that is cancelled.
    await choose('count');
    await call.click();
    await result.getByText('counted').waitFor();
    const progress = Array.from({ length: 3 }, () => 'notifications/progress');
    await expectSpan(shown, 'count', {
      state: 'done',
      parts: ['request tools/call', ...progress, 'result tools/call'],
    });
    await choose('wait');
    await call.click();
    await result.getByText('waiting', { exact: true }).waitFor();
    await result.getByRole('button', { name: 'Cancel' }).click();
    await result.getByText('Cancelled').waitFor();
    await expectSpan(shown, 'wait', {
      // Over HTTP, the end of the stream cancels the call, and the wire does not say which side has ended it.
      state: transport === 'http' ? 'unanswered' : 'cancelled',
      parts: ['request tools/call', 'notifications/progress'],
      isOpen: true,
    });

    // Each request names the level of the log.
    await tab('Asked');
    await tab('Log');
    const set = page.waitForResponse(/\/api\/setLogLevel$/);
    await page.getByRole('combobox', { name: 'Level to request' }).selectOption('warning');
    await set;
    await tab('Explore');
    await choose('speak');
    await call.click();
    await result.getByText('spoken').waitFor();
    // Over stdio, a log message does not say which call it belongs to.
    const messages = transport === 'http' ? ['notifications/message', 'notifications/message'] : [];
    await expectSpan(shown, 'speak', {
      state: 'done',
      parts: ['request tools/call', ...messages, 'result tools/call'],
    });
    await tab('Asked');
    const lines = page.getByRole('list', { name: 'Log messages' }).getByRole('listitem');
    await expect.poll(() => lines.count()).toBe(2);

    // Changes come over subscriptions/listen.
    await tab('Subscriptions');
    await page.getByRole('textbox', { name: 'URI of a resource' }).fill('world://fixed');
    await page.getByRole('button', { name: 'Subscribe', exact: true }).click();
    await page.getByRole('button', { name: 'Subscribed' }).waitFor();
    await tab('Explore');
    await choose('touch');
    await page.getByRole('textbox', { name: 'uri' }).fill('world://fixed');
    await call.click();
    await tab('Asked');
    await page.getByRole('list', { name: 'Resources' }).getByText('Changed').waitFor();
    await tab('Explore');
    await choose('grow');
    await page.getByRole('textbox', { name: 'name' }).fill('grown');
    await call.click();
    await page.getByText('The list has changed. Reload it to see the changes.').waitFor();
    await page.getByRole('button', { name: 'Reload' }).click();
    await choose('grown');
    expect(misdeeds).toEqual([]);
  });

  test('has tasks that are followed, answered and cancelled', async () => {
    const server = new McpServer({ name: 'printer', version: '1.0.0', onerror: () => {} });
    onTestFinished(() => server.close());
    const schema = { type: 'object', properties: { color: { type: 'string' } }, required: ['color'] } as const;
    server.tool('print', { task: { pollIntervalMs: 250 } }, async (_, ctx) => {
      const { content } = await ctx.elicit({ message: 'Which color?', schema });
      return `printed in ${content?.color}`;
    });
    server.tool('idle', { task: { pollIntervalMs: 250 } }, async (_, ctx) => {
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
      throw new Error('was called off');
    });
    const { url } = await server.listen({ port: 0 });
    const { page, tab, call, result, choose, misdeeds } = await exploreServer(browser(), url);
    await choose('print');
    await call.click();
    await page.getByRole('tab', { name: 'Asked 1 open' }).click();
    await page.getByRole('textbox', { name: 'color' }).fill('blue');
    await page.getByRole('button', { name: 'Accept', exact: true }).click();
    await tab('Explore');
    await result.getByText('printed in blue').waitFor();
    await result.getByText('completed', { exact: true }).waitFor();
    await choose('idle');
    await call.click();
    await result.getByRole('button', { name: 'Cancel' }).click();
    await result.getByText('cancelled', { exact: true }).waitFor();
    await tab('Asked');
    await tab('Tasks');
    await expect.poll(() => page.getByRole('list', { name: 'Tasks' }).getByRole('listitem').count()).toBe(2);
    expect(misdeeds).toEqual([]);
  });

  test('shows why an answer to a task was not sent, and keeps it', async () => {
    const server = new McpServer({ name: 'printer', version: '1.0.0' });
    onTestFinished(() => server.close());
    const schema = { type: 'object', properties: { color: { type: 'string' } }, required: ['color'] } as const;
    server.tool('print', { task: { pollIntervalMs: 250 } }, async (_, ctx) => {
      const { content } = await ctx.elicit({ message: 'Which color?', schema });
      return `printed in ${content?.color}`;
    });
    const { url } = await server.listen({ port: 0 });
    const { page, tab, call, result } = await exploreServer(browser(), url);
    await page.route('**/api/request', (route, request) =>
      request.postData()!.includes('tasks/update')
        ? route.fulfill({ status: 409, json: { error: 'Not now.' } })
        : route.continue(),
    );
    await call.click();
    await page.getByRole('tab', { name: 'Asked 1 open' }).click();
    const color = page.getByRole('textbox', { name: 'color' });
    await color.fill('blue');
    await page.getByRole('button', { name: 'Accept', exact: true }).click();
    await page.getByRole('alert').getByText('Not now.').waitFor();
    expect(await color.inputValue()).toBe('blue');
    await page.unroute('**/api/request');
    await page.getByRole('button', { name: 'Accept', exact: true }).click();
    await tab('Explore');
    await result.getByText('printed in blue').waitFor();
  });
});
