import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { AXE, expectAccess, WINDOWS } from './support/axe.ts';
import { describeInBrowser } from './support/browser.ts';
import { explore, tool } from './support/explore.ts';
import type { Script } from './support/scripted-server.ts';
import { SavedCalls } from '../../src/inspector/saved-calls.ts';

const text = { type: 'object', properties: { text: { type: 'string' } } };

/** A server that echoes, and has a resource and a prompt. */
const echo: Script = ({ method, params }) => {
  if (method === 'tools/list') return { tools: [tool('echo', { inputSchema: text })] };
  if (method === 'resources/list') return { resources: [{ uri: 'test://one', name: 'one' }] };
  if (method === 'prompts/list') return { prompts: [{ name: 'greet' }] };
  if (method === 'resources/read') return { contents: [{ uri: params['uri'], text: 'the content' }] };
  if (method === 'prompts/get') return { messages: [{ role: 'user', content: { type: 'text', text: 'the prompt' } }] };
  return { content: [{ type: 'text', text: `echo ${params['arguments'].text}` }] };
};

function savedFile(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'everwire-saved-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return path.join(folder, '.everwire', 'saved.json');
}

/** Saves the call that is shown, under a name. */
async function save(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Save call' }).click();
  const dialog = page.getByRole('dialog', { name: 'Save the call' });
  await dialog.getByRole('textbox', { name: 'Name' }).fill(name);
  await dialog.getByRole('button', { name: /^(Save|Replace)$/ }).click();
  await dialog.waitFor({ state: 'detached' });
}

const contentOf = (file: string): { servers: Record<string, { name: string }[]> } =>
  JSON.parse(readFileSync(file, 'utf8')) as { servers: Record<string, { name: string }[]> };
const items = (page: Page): Locator => page.getByRole('list', { name: 'saved calls' }).getByRole('listitem');

describeInBrowser('saved calls', (browser) => {
  test('are written after a click, and run again with one click', async () => {
    const file = savedFile();
    const opened = await explore(browser(), echo, { saved: new SavedCalls({ file }) });
    const { page, call, result, tab, server, misdeeds } = opened;
    await page.getByRole('textbox', { name: 'text', exact: true }).fill('hello');
    await call.click();
    await result.getByText('echo hello').waitFor();
    expect(existsSync(file)).toBe(false);
    await save(page, 'Say hello');
    await tab('Resources');
    await page.getByRole('button', { name: 'Read', exact: true }).click();
    await result.getByText('the content').waitFor();
    await save(page, 'Read one');
    await tab('Prompts');
    await page.getByRole('button', { name: 'Get', exact: true }).click();
    await result.getByText('the prompt').waitFor();
    await save(page, 'Greet');
    expect(contentOf(file).servers).toEqual({
      inspected: [
        { name: 'Greet', method: 'prompts/get', params: { name: 'greet' } },
        { name: 'Read one', method: 'resources/read', params: { uri: 'test://one' } },
        { name: 'Say hello', method: 'tools/call', params: { name: 'echo', arguments: { text: 'hello' } } },
      ],
    });

    await page.reload();
    await tab('Saved');
    await expect.poll(() => items(page).count()).toBe(3);
    const calls = (): number => server.received.filter(({ method }) => method === 'tools/call').length;
    expect(calls()).toBe(1);
    await page.getByRole('button', { name: 'Run Say hello' }).click();
    await result.getByText('echo hello').waitFor();
    expect(calls()).toBe(2);
    await page.getByRole('button', { name: 'Run Read one' }).click();
    await result.getByText('the content').waitFor();
    expect(misdeeds).toEqual([]);
  });

  test('are replaced and removed, and the page follows the file', async () => {
    const file = savedFile();
    const saved = new SavedCalls({ file });
    const params = JSON.stringify({ name: 'echo', arguments: { text: 'old' } });
    await saved.save('inspected', { name: 'One', method: 'tools/call', params }, []);
    const { page, call, result, tab } = await explore(browser(), echo, { saved });
    await page.getByRole('textbox', { name: 'text', exact: true }).fill('new');
    await call.click();
    await result.getByText('echo new').waitFor();
    await page.getByRole('button', { name: 'Save call' }).click();
    const name = page.getByRole('textbox', { name: 'Name' });
    expect(await name.inputValue()).toBe('echo');
    await name.fill('  ');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('alert').getByText('Write a name').waitFor();
    await name.fill('One');
    await page.getByText('There is already a saved call with this name.').waitFor();
    await page.getByRole('button', { name: 'Replace' }).click();
    await expect.poll(() => readFileSync(file, 'utf8')).toContain('"text": "new"');
    await tab('Saved');
    await page.getByRole('button', { name: 'Run One' }).click();
    await result.getByText('echo new').waitFor();
    await page.getByRole('button', { name: 'Remove …' }).click();
    await page.getByRole('button', { name: 'Remove from the file' }).click();
    await expect.poll(() => items(page).count()).toBe(0);
    expect(contentOf(file).servers).toEqual({});
    await saved.save('inspected', { name: 'Pulled', method: 'tools/call', params }, []);
    await page.getByRole('button', { name: 'Reload' }).click();
    await expect.poll(() => items(page).count()).toBe(1);
  });

  test('rules are saved for the server, and set again after a restart', async () => {
    const file = savedFile();
    const breakpoints = async () => {
      const { page, misdeeds } = await explore(browser(), echo, { saved: new SavedCalls({ file }) });
      await page.getByRole('tab', { name: /^Breakpoints/ }).click();
      return { page, misdeeds, rules: page.getByRole('list', { name: 'Rules' }).getByRole('listitem') };
    };
    const first = await breakpoints();
    for (const filter of ['tool:echo kind:request', 'kind:error']) {
      await first.page.getByRole('textbox', { name: 'Filter' }).fill(filter);
      await first.page.getByRole('button', { name: 'Add rule' }).click();
      await first.rules.getByText(filter).waitFor();
    }
    expect(existsSync(file)).toBe(false);
    await first.page.getByRole('button', { name: 'Save rules' }).click();
    await first.page.getByText(`Saved the rules in ${file}`).waitFor();
    const action = { type: 'hold' };
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      version: 1,
      servers: {},
      rules: {
        inspected: ['tool:echo kind:request', 'kind:error'].map((filter) => ({ filter, action, enabled: true })),
      },
    });

    const second = await breakpoints();
    expect(await second.rules.count()).toBe(0);
    await second.page.getByRole('button', { name: 'Add saved rules' }).click();
    await second.page.getByText('2 saved rules were added. Turn on those that you want to use.').waitFor();
    await expect.poll(() => second.rules.count()).toBe(2);
    // A person sees them before they act.
    const isOn = (at: number): Promise<boolean> => second.rules.nth(at).getByRole('switch').isChecked();
    expect([await isOn(0), await isOn(1)]).toEqual([false, false]);
    await second.rules.nth(0).getByRole('switch').click();
    await expect.poll(() => isOn(0)).toBe(true);
    await second.page.getByRole('button', { name: 'Add saved rules' }).click();
    await second.page.getByText('0 saved rules were added.').waitFor();
    expect(await second.rules.count()).toBe(2);
    expect([...first.misdeeds, ...second.misdeeds]).toEqual([]);
  });

  test('of a file that cannot be used give an error, and the file stays as it is', async () => {
    const file = savedFile();
    const saved = new SavedCalls({ file });
    await saved.save('inspected', { name: 'One', method: 'tools/call', params: '{"name":"echo"}' }, []);
    writeFileSync(file, '{"<img src=x onerror=alert(1)>":1}');
    const { page, call, result, tab, misdeeds } = await explore(browser(), echo, { saved });
    await call.click();
    await result.getByText('echo').waitFor();
    await page.getByRole('button', { name: 'Save call' }).click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const why = `cannot use ${file}: it has an unknown member "<img src=x onerror=alert(1)>"`;
    await expect.poll(() => page.getByRole('dialog').getByRole('alert').textContent()).toBe(why);
    await page.keyboard.press('Escape');
    await tab('Saved');
    await expect
      .poll(() =>
        page
          .getByRole('tabpanel', { name: /^Saved/ })
          .getByRole('alert')
          .textContent(),
      )
      .toBe(why);
    expect(readFileSync(file, 'utf8')).toBe('{"<img src=x onerror=alert(1)>":1}');
    // The browser reports each refused command.
    expect(misdeeds.filter((each) => !each.includes('409 (Conflict)'))).toEqual([]);
  });

  test.each(WINDOWS)('pass axe at $size', async ({ viewport, zoom }) => {
    const saved = new SavedCalls({ file: savedFile() });
    const params = JSON.stringify({ name: 'echo', arguments: { text: 'hello' } });
    await saved.save('inspected', { name: 'Say hello', method: 'tools/call', params }, []);
    const context = { viewport, deviceScaleFactor: zoom, bypassCSP: true };
    const { page, result, tab } = await explore(browser(), echo, { saved, ...context });
    await page.evaluate(AXE);
    await tab('Saved');
    await expect.poll(() => items(page).count()).toBe(1);
    await expectAccess(page, 'the list');
    await page.getByRole('button', { name: 'Run Say hello' }).click();
    await result.getByText('echo hello').waitFor();
    await page.getByRole('button', { name: 'Remove …' }).click();
    await expectAccess(page, 'a saved call');
    await page.getByRole('button', { name: 'Save call' }).click();
    await page.getByRole('dialog').waitFor();
    await expectAccess(page, 'the dialog');
    await page.keyboard.press('Escape');
    await page.getByRole('tab', { name: /^Breakpoints/ }).click();
    await expectAccess(page, 'the rules');
  });
});
