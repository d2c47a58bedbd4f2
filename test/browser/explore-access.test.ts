import { expect, test } from 'vitest';
import { AXE, expectAccess, WINDOWS } from './support/axe.ts';
import { describeInBrowser, openPage } from './support/browser.ts';
import { explore, stateWith } from './support/explore.ts';
import type { Script } from './support/scripted-server.ts';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const LONG = 'a-name-that-is-much-too-long-for-a-narrow-window-and-has-no-place-to-break'.repeat(3);
const inputSchema = {
  type: 'object',
  properties: {
    text: { type: 'string', description: 'Some text' },
    level: { enum: ['low', 'high'] },
    on: { type: 'boolean' },
    list: { type: 'array', items: { type: 'number' } },
    object: { type: 'object', properties: { a: { type: 'string' } } },
  },
  required: ['text'],
};

const script: Script = ({ method, params, notify, ask }) => {
  const annotations = { destructiveHint: true, readOnlyHint: false };
  if (method === 'tools/list')
    return {
      tools: [{ name: 'all', title: 'All of it', description: LONG, inputSchema, annotations }, { name: LONG }],
      nextCursor: 'x',
    };
  if (method === 'resources/list')
    return { resources: [{ uri: `file:///${LONG}`, name: 'r', mimeType: 'text/plain', size: 5 }] };
  if (method === 'resources/templates/list')
    return { resourceTemplates: [{ uriTemplate: `file:///{name}{?x}`, name: 't' }] };
  if (method === 'prompts/list')
    return { prompts: [{ name: 'p', arguments: [{ name: 'a', description: 'An argument', required: true }] }] };
  if (method === 'completion/complete') return { completion: { values: ['one', 'two'] } };
  if (method === 'resources/read') return { contents: [{ uri: params['uri'], text: LONG }] };
  if (method !== 'tools/call') return {};
  notify('notifications/message', { level: 'error', logger: 'x', data: LONG });
  notify('notifications/resources/updated', { uri: 'file:///a' });
  notify('notifications/progress', {
    progressToken: params['_meta'].progressToken,
    progress: 1,
    total: 2,
    message: LONG,
  });
  if (params['arguments'].text !== 'ask') {
    const link = { type: 'resource_link', uri: `https://xn--80ak6aa92e.invalid/${LONG}`, name: 'l' };
    const image = { type: 'image', mimeType: 'image/png', data: PIXEL };
    return {
      content: [{ type: 'text', text: LONG, annotations: { audience: [LONG] } }, image, link],
      structuredContent: { a: [1, { b: LONG }] },
    };
  }
  void ask('elicitation/create', { message: LONG, requestedSchema: inputSchema }).catch(() => {});
  void ask('elicitation/create', {
    mode: 'url',
    message: 'Log in',
    url: `https://a@example.com/${LONG}`,
    elicitationId: 'e',
  }).catch(() => {});
  void ask('sampling/createMessage', {
    messages: [{ role: 'user', content: { type: 'text', text: LONG } }],
    systemPrompt: 'Hi',
    maxTokens: 5,
  });
  return new Promise(() => {});
};

describeInBrowser('axe finds nothing, dark or light, and nothing is cut off', (browser) => {
  test.each(WINDOWS)('on Explore, Asked and the live Wire, at $size', async ({ viewport, zoom }) => {
    const options = { viewport, deviceScaleFactor: zoom, bypassCSP: true };
    const { page, tab, call, result, misdeeds } = await explore(browser(), script, options);
    await page.evaluate(AXE);
    const check = (where: string): Promise<void> => expectAccess(page, where);
    const first = page.locator('.picker .entry').first();
    const isNarrow = viewport.width < 768;
    await first.waitFor();
    await check('tools');
    await first.click();
    await call.click();
    await page.getByRole('alert').getByText('text is required').waitFor();
    await check('mistakes');
    await page.getByRole('textbox', { name: 'text', exact: true }).fill('x');
    await call.click();
    await result.getByRole('tree', { name: 'Structured content' }).waitFor();
    await check('result');
    await page.getByText('Definition').click();
    await check('definition');
    await page.getByRole('textbox', { name: 'text', exact: true }).fill('ask');
    await call.click();
    await result.getByRole('progressbar').waitFor();
    await check('running');
    for (const name of ['Resources', 'Templates', 'Prompts']) {
      await tab(name);
      await first.waitFor();
      if (isNarrow) {
        await check(`list of ${name}`);
        await first.click();
      }
      await page.getByRole('button', { name: name === 'Prompts' ? 'Get' : 'Read', exact: true }).click();
      await check(name);
    }
    await page.getByRole('combobox', { name: /^a/ }).focus();
    await page.getByRole('option').first().waitFor();
    await page.keyboard.press('ArrowDown');
    await check('completion');
    await tab('Server');
    await check('server');
    await tab('Asked');
    await expect.poll(() => page.getByRole('article').count()).toBe(3);
    await check('questions');
    for (const name of ['Log', 'Subscriptions', 'Tasks', 'Roots']) {
      await tab(name);
      await check(name);
    }
    await tab('Wire');
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await check('live wire');
    expect(misdeeds).toEqual([]);
  });

  test.each(WINDOWS)('on Connect, at $size', async ({ viewport, zoom }) => {
    const feed = stateWith(
      {
        status: 'failed',
        problem: { step: 'tls', message: LONG, advice: 'Do that.' },
        attempts: [
          { what: LONG, outcome: 'failed', detail: LONG, duration: 5, record: 1 },
          { what: 'POST initialize', outcome: 'running' },
        ],
        login: { url: `https://xn--80ak6aa92e.invalid/${LONG}` },
        stderr: [LONG],
      },
      { target: LONG, choices: [{ id: 'a', name: LONG, source: 'mcp.json', detail: LONG }] },
    );
    const { page } = await openPage(browser(), { feed, viewport, deviceScaleFactor: zoom, bypassCSP: true });
    await page.evaluate(AXE);
    await page.getByRole('button', { name: 'Add header' }).click();
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    await page.getByText('begins with http').waitFor();
    await expectAccess(page, 'Connect');
  });
});
