import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { describeInBrowser, openPage } from './support/browser.ts';
import { explore, stateWith, tool } from './support/explore.ts';
import type { Script } from './support/scripted-server.ts';
import { HIDDEN, TRICKS } from './support/tricks.ts';
import type { JsonObject, JsonValue } from '../../src/jsonrpc/message.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const SVG = base64('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>');

/** All kinds of content, with a trick wherever the server has a say. */
function contents(trick: string): unknown[] {
  return [
    {
      type: 'text',
      text: trick,
      annotations: { [trick]: trick, audience: [trick, { toString: 1 }], x: { toString: 1 } },
    },
    { type: 'image', mimeType: 'image/svg+xml', data: SVG },
    { type: 'image', mimeType: 'image/png', data: base64(trick) },
    { type: 'image', mimeType: 'image/png', data: trick },
    { type: 'audio', mimeType: `audio/${trick}`, data: base64(trick) },
    { type: 'resource_link', uri: trick, name: trick, title: trick, description: trick, mimeType: trick },
    { type: 'resource_link', uri: `https://evil.example/${trick}`, name: trick },
    { type: 'resource', resource: { uri: trick, mimeType: 'text/html', text: trick } },
    { type: 'resource', resource: { uri: trick, mimeType: 'image/svg+xml', blob: SVG } },
    { type: trick },
    trick,
    null,
  ];
}

/** A schema with a trick as name, title, description, default and choice. */
function schemaOf(trick: string): JsonObject {
  const text = { type: 'string', title: trick, description: trick };
  return {
    type: 'object',
    properties: {
      [`p ${trick}`]: { ...text, default: trick },
      choice: { ...text, enum: [trick, 'b'], default: trick },
    },
    required: [trick],
  };
}

const script: Script = async ({ method, params, notify, ask }) => {
  const entry = (trick: string): JsonObject => ({ name: trick, title: `t ${trick}`, description: `d ${trick}` });
  if (method === 'tools/list') {
    const tools = TRICKS.map((trick) => ({
      ...entry(trick),
      inputSchema: schemaOf(trick),
      annotations: { title: trick },
    }));
    return { tools };
  }
  if (method === 'resources/list')
    return { resources: TRICKS.map((trick) => ({ ...entry(trick), uri: trick, mimeType: trick })) };
  if (method === 'resources/templates/list')
    return { resourceTemplates: TRICKS.map((trick) => ({ ...entry(trick), uriTemplate: `${trick}{x}` })) };
  if (method === 'prompts/list') {
    const prompts = TRICKS.map((trick) => ({
      ...entry(trick),
      arguments: [{ name: trick, title: trick, description: trick }],
    }));
    return { prompts };
  }
  if (method === 'completion/complete') return { completion: { values: TRICKS } };
  if (method === 'resources/read')
    return { contents: [{ uri: params['uri'], mimeType: 'text/html', text: params['uri'] }] };
  const trick = (params['name'] ?? '') as string;
  if (method === 'prompts/get') {
    const messages = contents(trick).map((content) => ({ role: trick, content }));
    return { description: trick, messages };
  }
  if (method !== 'tools/call') return {};
  notify('notifications/message', { level: trick, logger: trick, data: trick });
  notify('notifications/resources/updated', { uri: trick });
  if (trick === TRICKS[0]) {
    const url = (address: string): object => ({ mode: 'url', message: trick, url: address, elicitationId: trick });
    void ask('elicitation/create', url('https://evil.example/<script>alert(1)</script>')).catch(() => {});
    void ask('elicitation/create', url('javascript:alert(1)')).catch(() => {});
    void ask('elicitation/create', { message: TRICKS.join(' '), requestedSchema: schemaOf(trick) }).catch(() => {});
    const messages = TRICKS.map((each) => ({ role: 'user', content: { type: 'text', text: each } }));
    void ask('sampling/createMessage', {
      messages,
      systemPrompt: TRICKS.join(' '),
      maxTokens: 1,
      stopSequences: TRICKS,
    });
    await new Promise(() => {});
  }
  if (trick === TRICKS[1]) return { code: -1, message: TRICKS.join(' '), data: TRICKS };
  return { content: contents(trick), structuredContent: { [trick]: trick }, _meta: { [trick]: trick } };
};

/** What on the page would be more than text, and the first character that hides something. */
async function dangers(page: Page): Promise<unknown[]> {
  const { text, found } = await page.evaluate(() => {
    const attributes = ['title', 'aria-label', 'alt', 'placeholder'];
    const named = [...document.querySelectorAll('[title], [aria-label], [alt], [placeholder]')];
    return {
      text: [
        document.body.textContent,
        ...named.flatMap((each) => attributes.map((name) => each.getAttribute(name))),
      ].join(''),
      found: [...document.body.querySelectorAll('script, svg, iframe, style, link, meta, base, animate, object, embed')]
        .concat([...document.querySelectorAll('a')].filter(({ protocol }) => !/^https?:$/.test(protocol)))
        .concat(
          [...document.querySelectorAll('a')].filter(
            ({ rel, target }) => !rel.includes('noopener') || target !== '_blank',
          ),
        )
        .concat(
          [...document.querySelectorAll('img, audio')].filter((each) => !each.getAttribute('src')!.startsWith('blob:')),
        )
        .map(({ outerHTML }) => outerHTML),
    };
  });
  const hidden = HIDDEN.exec(text)?.[0];
  return hidden === undefined ? found : [...found, `U+${hidden.codePointAt(0)!.toString(16)}`];
}

describeInBrowser('what a hostile server sends stays text', (browser) => {
  test('on the screens Explore and Asked, wherever it is', async () => {
    const described = {
      serverInfo: {
        name: TRICKS.join(' '),
        version: TRICKS[0],
        title: TRICKS.join(' '),
        websiteUrl: 'javascript:alert(1)',
      },
      instructions: TRICKS.join(' '),
    };
    const { page, tab, call, result, misdeeds } = await explore(browser(), script, { described });
    const look = async (where: string): Promise<void> => expect(await dangers(page), where).toEqual([]);
    for (const [name, button] of [
      ['Tools', 'Call'],
      ['Resources', 'Read'],
      ['Templates', 'Read'],
      ['Prompts', 'Get'],
    ] as const) {
      await tab(name);
      const entries = page.locator('.picker .entry');
      await expect.poll(() => entries.count()).toBe(TRICKS.length);
      // The list shows all names. Each trick goes through a result once.
      for (let at = 0; at < TRICKS.length; at += name === 'Tools' ? 1 : 6) {
        await entries.nth(at).click();
        for (const field of await page.getByRole('tabpanel', { name }).getByRole('combobox').all()) {
          if ((await field.evaluate(({ localName }) => localName)) !== 'input') continue;
          await field.focus();
          await page.getByRole('option').first().waitFor();
          await look(`options of ${name} ${at}`);
          await field.fill('x');
          await field.blur();
        }
        await page.getByRole('button', { name: button, exact: true }).click();
        const anyway = page.getByRole('button', { name: 'Call anyway' });
        if (name === 'Tools' && (await anyway.count()) > 0) await anyway.click();
        await result.waitFor();
        if (name !== 'Tools' || at > 0) await result.getByRole('status').getByText(/after/).waitFor();
        for (const each of ['Definition', 'Whole result', 'Parameters sent'])
          for (const summary of await page.locator('summary', { hasText: each }).all()) await summary.click();
        await look(`${name} ${at}`);
      }
    }
    await tab('Server');
    await look('Server');
    await tab('Asked');
    await page.getByRole('button', { name: 'Show 1 more' }).click();
    await expect.poll(() => page.getByRole('article').count()).toBe(4);
    await look('Questions');
    await tab('Log');
    await expect
      .poll(() => page.getByRole('list', { name: 'Log messages' }).getByRole('listitem').count())
      .toBe(TRICKS.length);
    await look('Log');
    await tab('Subscriptions');
    await look('Subscriptions');
    expect(await call.count()).toBe(0);
    expect(misdeeds).toEqual([]);
  });

  test('characters that show nothing become few elements', async () => {
    const text = 'a\u200B'.repeat(100_000);
    const { page, call, result, misdeeds } = await explore(browser(), ({ method }) =>
      method === 'tools/list'
        ? { tools: [tool('hide', { description: text })] }
        : { content: [{ type: 'text', text }] },
    );
    await call.click();
    await result.getByRole('status').getByText(/after/).waitFor();
    expect(await page.locator('body').textContent()).toContain(String.raw`a\u200ba\u200b`);
    expect(await dangers(page)).toEqual([]);
    expect(await page.locator('body *').count()).toBeLessThan(2000);
    expect(misdeeds).toEqual([]);
  });

  test('lists of thousands are shown in portions', async () => {
    const many = Array.from({ length: 20_000 }, (_, at) => ({ type: 'text', text: `n${at}` }));
    const list = many.map(({ text }) => ({ name: text }));
    const annotated = { type: 'text', text: 'x', annotations: Object.fromEntries(list.map(({ name }) => [name, 1])) };
    const { page, choose, tab, call, result, misdeeds } = await explore(browser(), ({ method, params }) => {
      if (method === 'tools/list') return { tools: [tool('many'), tool('annotated')] };
      if (method === 'prompts/list') return { prompts: [{ name: 'p', arguments: list }] };
      if (method === 'prompts/get') return { messages: many.map((content) => ({ role: 'user', content })) };
      return { content: params['name'] === 'many' ? many : [annotated] };
    });
    const few = async (): Promise<void> => {
      await result.getByRole('status').getByText(/after/).waitFor();
      expect(await page.locator('body *').count()).toBeLessThan(5000);
    };
    await choose('annotated');
    await call.click();
    await few();
    await choose('many');
    await call.click();
    await few();
    await result.getByRole('button', { name: 'Show 100 more' }).click();
    await result.getByText('n199', { exact: true }).waitFor();
    await tab('Prompts');
    await page.getByRole('button', { name: 'Get', exact: true }).click();
    await few();
    expect(misdeeds).toEqual([]);
  });

  test('resources whose changes are reported are shown in portions, the newest first', async () => {
    const { page, tab, call, result, misdeeds } = await explore(browser(), ({ method, notify }) => {
      if (method === 'tools/list') return { tools: [tool('touch')] };
      for (let at = 0; at < 1000; at += 1) notify('notifications/resources/updated', { uri: `file:///n${at}` });
      return { content: [] };
    });
    await call.click();
    await result.getByRole('status').getByText(/after/).waitFor();
    await tab('Asked');
    await tab('Subscriptions');
    const listed = page.getByRole('list', { name: 'Resources' }).getByRole('listitem');
    await expect.poll(() => listed.first().textContent()).toContain('file:///n999');
    expect(await listed.count()).toBe(50);
    await page.getByRole('button', { name: 'Show 50 more' }).click();
    await expect.poll(() => listed.count()).toBe(100);
    expect(misdeeds).toEqual([]);
  });

  test('a value with very many members is shown as text', async () => {
    const members = Array.from({ length: 25_000 }, (_, at) => [`k${at}`, at]);
    const structuredContent = Object.fromEntries(members) as JsonObject;
    const { page, call, result, misdeeds } = await explore(browser(), ({ method }) =>
      method === 'tools/list' ? { tools: [tool('wide')] } : { content: [], structuredContent },
    );
    await call.click();
    await result.getByText('the JSON has too many values for a tree').waitFor();
    expect(await result.getByRole('tree').count()).toBe(0);
    expect(await result.locator('pre').first().textContent()).toContain('{"k0":0,"k1":1,');
    await page.getByRole('button', { name: 'Show in Wire' }).click();
    await page.getByRole('row').filter({ hasText: 'result' }).last().click();
    const message = page.getByRole('tabpanel', { name: 'Message' });
    await message.getByText('the JSON has too many values for a tree').waitFor();
    expect(misdeeds).toEqual([]);
  });

  test('a value whose outer levels have thousands of members is a tree with few rows', async () => {
    const list = (length: number, item: JsonValue): JsonValue => Array.from({ length }, () => item);
    const { call, result, misdeeds } = await explore(browser(), ({ method }) =>
      method === 'tools/list'
        ? { tools: [tool('rows')] }
        : { content: [], structuredContent: list(100, list(190, 'a\u202E'.repeat(20))) as JsonObject },
    );
    await call.click();
    await result.getByRole('tree').waitFor();
    const items = result.getByRole('treeitem');
    expect(await items.count()).toBe(101);
    await items.nth(1).click();
    await expect.poll(() => items.count()).toBe(202);
    expect(misdeeds).toEqual([]);
  });

  test('parts of a result with very many values are shown in portions', async () => {
    const part = { type: 'x', values: Array.from({ length: 300 }, (_, at) => at) };
    const { page, call, result, misdeeds } = await explore(browser(), ({ method }) =>
      method === 'tools/list' ? { tools: [tool('parts')] } : { content: Array.from({ length: 100 }, () => part) },
    );
    await call.click();
    await result.getByRole('tree').first().waitFor();
    expect(await page.locator('body *').count()).toBeLessThan(5000);
    expect(await result.getByRole('tree').count()).toBe(3);
    await result.getByRole('button', { name: 'Show 3 more' }).click();
    await expect.poll(() => result.getByRole('tree').count()).toBe(6);
    expect(misdeeds).toEqual([]);
  });

  test('very long texts are cut wherever they are', async () => {
    const long = 'a\u202E'.repeat(100_000);
    const properties = Object.fromEntries(
      Array.from({ length: 100 }, (_, at) => [`p${at}`, { type: 'string', description: long.slice(0, 3000) }]),
    );
    const { page, call, result, choose, tab, misdeeds } = await explore(browser(), ({ method, params, notify }) => {
      if (method === 'tools/list')
        return {
          tools: [
            tool('go', { description: long, inputSchema: { type: 'object', properties } }),
            tool('log'),
            tool(long.slice(0, 5000), { title: long.slice(0, 5000) }),
          ],
        };
      if (params['name'] === 'log') notify('notifications/message', { level: 'info', data: long, logger: long });
      return params['name'] === 'log' ? { content: [] } : { code: 1, message: long };
    });
    const longest = (selector: string): Promise<number> =>
      page.locator(selector).evaluateAll((all) => Math.max(...all.map(({ textContent }) => textContent.length)));
    await page.locator('.picker .entry').first().click();
    // With the beginning of one escape less.
    await expect.poll(() => longest('.field-about')).toBe(996);
    expect(await longest('.entry-head .prose')).toBe(9998);
    expect(await longest('.picker .entry-label')).toBe(198);
    await call.click();
    await result.getByRole('status').getByText(/after/).waitFor();
    expect(await longest('.result .notice p')).toBe(9998);
    await choose('log');
    await call.click();
    await result.getByRole('status').getByText(/after/).waitFor();
    await tab('Asked');
    await tab('Log');
    await expect.poll(() => longest('.log .prose')).toBe(1997);
    expect(misdeeds).toEqual([]);
  });

  test('nothing moves under the pointer when the end of a long form comes into sight', async () => {
    const text = { type: 'string', description: 'a\u202E'.repeat(500) };
    const properties = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`p${at}`, text]));
    const { call, misdeeds } = await explore(browser(), ({ method }) =>
      method === 'tools/list' ? { tools: [tool('go', { inputSchema: { type: 'object', properties } })] } : {},
    );
    const moved = await call.evaluate(async (button) => {
      button.scrollIntoView();
      const { top } = button.getBoundingClientRect();
      for (let frame = 0; frame < 5; frame += 1)
        await new Promise((resolve) => {
          requestAnimationFrame(resolve);
        });
      return button.getBoundingClientRect().top - top;
    });
    expect(moved).toBe(0);
    expect(misdeeds).toEqual([]);
  });

  test('a value with hundreds of levels and few members is shown, and its levels can be opened', async () => {
    const levels = 390;
    const text = `${'['.repeat(levels)}"inside"${']'.repeat(levels)}`;
    const { page, call, result, misdeeds } = await explore(browser(), ({ method }) =>
      method === 'tools/list' ? { tools: [tool('deep')] } : { content: [{ type: 'deep', value: JSON.parse(text) }] },
    );
    await call.click();
    const tree = result.getByRole('tree', { name: 'Content' });
    await tree.waitFor();
    const items = tree.getByRole('treeitem');
    const shown = await items.count();
    await items.first().focus();
    await page.keyboard.press('End');
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => items.count()).toBe(shown + 1);
    await page.getByRole('tab', { name: 'Wire' }).click();
    await page.getByRole('row').filter({ hasText: 'result' }).last().click();
    await page.getByRole('tree', { name: 'Message' }).waitFor();
    expect(misdeeds).toEqual([]);
  });

  test('on the screen Connect, wherever it is', async () => {
    const all = TRICKS.join(' ');
    const feed = stateWith(
      {
        status: 'failed',
        problem: { message: all, advice: all },
        attempts: TRICKS.map((what) => ({ what, outcome: 'failed', detail: what })),
        login: { url: 'javascript:alert(1)' },
        stderr: TRICKS,
      },
      { target: all, choices: TRICKS.map((name, id) => ({ id: String(id), name, source: name, detail: name })) },
    );
    const { page, misdeeds } = await openPage(browser(), { feed });
    await page.getByRole('alert').waitFor();
    expect(await dangers(page)).toEqual([]);
    expect(await page.getByRole('link').count()).toBe(0);
    expect(misdeeds).toEqual([]);
  });
});
