import { expect, onTestFinished, test } from 'vitest';
import { describeInBrowser, openPage } from './support/browser.ts';
import { stateWith, tool } from './support/explore.ts';
import { scriptedServer } from './support/scripted-server.ts';
import { Capture } from '../../src/inspect/capture.ts';
import { fixedState } from '../../src/inspect/page-server/state-feed.ts';
import type { Step } from '../../src/inspect/page-server/page-api.ts';
import { Inspector } from '../../src/inspector/inspector.ts';

const STEPS = {
  command: 'The command failed',
  dns: 'The host name was not found',
  connect: 'The connection failed',
  tls: 'The TLS connection failed',
  login: 'A login is required',
  http: 'The server refused the request',
  revision: 'No common protocol revision',
  silence: 'The server did not answer',
  output: 'The command wrote output that is not MCP',
} satisfies Record<Step, string>;

describeInBrowser('Connect', (browser) => {
  test('a server is connected by a click, or by a URL with headers, revision and transport', async () => {
    const server = await scriptedServer(({ method }) => (method === 'tools/list' ? { tools: [tool('one')] } : {}));
    const capture = new Capture();
    const inspector = new Inspector({
      capture,
      choices: [
        {
          id: 'x',
          name: 'My server',
          source: 'mcp.json',
          detail: 'shown detail',
          server: { kind: 'url', url: server.url, headers: {} },
        },
      ],
    });
    onTestFinished(() => inspector.close());
    const { page, misdeeds } = await openPage(browser(), { capture, feed: inspector.feed, commands: inspector });
    await page.getByRole('button', { name: /^My server.*shown detail/ }).click();
    await page.getByRole('button', { name: 'Call' }).waitFor();
    await page.getByRole('tab', { name: 'Server' }).click();
    await page.getByRole('button', { name: 'Disconnect' }).click();
    await page.getByRole('textbox', { name: 'URL' }).fill('example.com');
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    await page.getByText('begins with http').waitFor();
    await page.getByRole('textbox', { name: 'URL' }).fill(server.url.href);
    await page.getByRole('button', { name: 'Add header' }).click();
    await page.getByRole('textbox', { name: 'Name of header 1' }).fill('X-Key');
    const value = page.getByLabel('Value of header 1');
    await value.fill('abc');
    expect(await value.getAttribute('type')).toBe('password');
    await page.getByRole('checkbox', { name: 'Show values' }).check();
    expect(await value.getAttribute('type')).toBe('text');
    await page.getByRole('combobox', { name: 'Revision' }).selectOption('2025-11-25');
    await page.getByRole('combobox', { name: 'Transport' }).selectOption('streamable-http');
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    await page.getByRole('button', { name: 'Call' }).waitFor();
    await page.getByRole('tab', { name: 'Server' }).click();
    // The revision was given, so only its handshake was tried.
    await expect.poll(() => page.getByRole('list', { name: 'What was tried' }).getByRole('listitem').count()).toBe(1);
    expect(misdeeds).toEqual([]);
  });

  test.each(Object.entries(STEPS))(
    'a failure at the step %s says what happened and what to do',
    async (step, title) => {
      const feed = stateWith(
        {
          status: 'failed',
          problem: { step: step as Step, message: 'This happened.', advice: 'Do that.' },
          attempts: [{ what: 'POST initialize', outcome: 'failed', detail: 'no answer', duration: 1234, record: 1 }],
          stderr: ['first line', 'last words'],
        },
        { target: 'my server' },
      );
      const { page } = await openPage(browser(), { feed });
      const alert = page.getByRole('alert');
      await alert.getByText(title).waitFor();
      expect(await alert.textContent()).toBe(`${title}This happened.Do that.`);
      await page.getByText('last words').waitFor();
      const attempt = page.getByRole('list', { name: 'What was tried' }).getByRole('listitem');
      expect(await attempt.textContent()).toMatch(/failed.*POST initialize.*no answer.*1\.23 s/);
      await attempt.getByRole('button', { name: 'Show “POST initialize” in Wire' }).click();
      await page.getByRole('grid', { name: 'Wire records' }).waitFor();
    },
  );

  test('a login shows its whole address, and opens by a click only', async () => {
    const feed = stateWith({
      status: 'connecting',
      login: { url: 'https://xn--80ak6aa92e.invalid/authorize?client_id=x' },
    });
    const { page, misdeeds } = await openPage(browser(), { feed });
    await page.getByText('https://xn--80ak6aa92e.invalid/authorize?client_id=x', { exact: true }).waitFor();
    await page.getByText('аррӏе.invalid').waitFor();
    expect(misdeeds).toEqual([]);
    expect(await page.getByRole('link', { name: 'Open the login page' }).getAttribute('rel')).toContain('noopener');
  });

  test.each(['observer', 'recording'] as const)('the role %s has nothing to send, and says so', async (role) => {
    const { page } = await openPage(browser(), { feed: fixedState(role, 'session.mcpcap') });
    await page.getByRole('grid', { name: 'Wire records' }).waitFor();
    for (const name of ['Explore', 'Asked']) {
      await page.getByRole('tab', { name }).click();
      await page.getByRole('tabpanel', { name }).getByText('Wire shows all traffic.').waitFor();
      expect(await page.getByRole('tabpanel', { name }).getByRole('button').count()).toBe(0);
    }
  });
});
