import { expect, test } from 'vitest';
import { describeInBrowser } from './support/browser.ts';
import { explore, tool, type ExplorePage } from './support/explore.ts';
import type { Script, ScriptedRequest } from './support/scripted-server.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';

/** A server whose tool asks the client, and returns what it got. */
function asking(ask: (request: ScriptedRequest) => Promise<JsonObject>): Script {
  return async (request) => {
    if (request.method === 'tools/list') return { tools: [tool('ask'), tool('other')] };
    if (request.params['name'] !== 'ask') return { content: [{ type: 'text', text: 'meanwhile' }] };
    const { result, error } = await ask(request);
    return { content: [{ type: 'text', text: JSON.stringify(result ?? { code: error.code }) }] };
  };
}

/** Calls the tool that asks, and goes to its question. */
async function question(shown: ExplorePage): Promise<void> {
  await shown.call.click();
  await shown.tab('Asked').then(() => shown.page.getByRole('article').first().waitFor());
}

/** The result of the call, which is what the server got. */
async function got({ page, tab, result }: ExplorePage): Promise<unknown> {
  await expect.poll(() => page.getByRole('article').count()).toBe(0);
  await tab('Explore');
  return JSON.parse((await result.locator('pre').first().textContent())!);
}

const requestedSchema = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer', default: 42 } },
  required: ['name'],
};

describeInBrowser('Asked', (browser) => {
  test('a call that waits for an answer leads to the question', async () => {
    const ask = ({ ask: send }: ScriptedRequest): Promise<JsonObject> =>
      send('elicitation/create', { message: 'Who are you?', requestedSchema });
    const shown = await explore(browser(), asking(ask));
    await shown.call.click();
    await shown.result.getByRole('button', { name: 'Answer the server’s question' }).click();
    await shown.page.getByRole('button', { name: 'Decline', exact: true }).click();
    expect(await got(shown)).toEqual({ action: 'decline' });
    expect(await shown.result.getByRole('button', { name: 'Answer' }).count()).toBe(0);
    expect(shown.misdeeds).toEqual([]);
  });

  test('a form waits in the inbox while other calls run, and its answer is checked and sent', async () => {
    const ask = ({ ask: send }: ScriptedRequest): Promise<JsonObject> =>
      send('elicitation/create', { message: 'Who are you?', requestedSchema });
    const shown = await explore(browser(), asking(ask));
    const { page, call, choose, tab, result, misdeeds } = shown;
    await call.click();
    await page.getByRole('tab', { name: 'Asked 1 open' }).waitFor();
    await choose('other');
    await call.click();
    await result.getByText('meanwhile').waitFor();
    await tab('Asked');
    await page.getByText('Who are you?').waitFor();
    await page.getByRole('button', { name: 'Accept', exact: true }).click();
    await page.getByText('This does not match the schema').waitFor();
    await page.getByRole('textbox', { name: 'name' }).fill('Ada');
    // What was typed stays while the page shows something else.
    await tab('Log');
    await tab('Questions');
    await page.getByRole('button', { name: 'Accept', exact: true }).click();
    await tab('Explore');
    await choose('ask');
    await tab('Asked');
    expect(await got(shown)).toEqual({ action: 'accept', content: { name: 'Ada', age: 42 } });
    expect(misdeeds).toEqual([]);
  });

  test('many questions are shown a few at a time', async () => {
    const { page, call, misdeeds } = await explore(browser(), async ({ method, ask }) => {
      if (method === 'tools/list') return { tools: [tool('many')] };
      const properties = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`p${at}`, { type: 'string' }]));
      const asked = Array.from({ length: 7 }, (_, at) =>
        ask('elicitation/create', { message: `Number ${at}`, requestedSchema: { type: 'object', properties } }),
      );
      await Promise.all(asked);
      return {};
    });
    await call.click();
    await page.getByRole('tab', { name: 'Asked 7 open' }).click();
    const articles = page.getByRole('article');
    await expect.poll(() => articles.count()).toBe(3);
    await articles.first().getByRole('button', { name: 'Decline' }).click();
    await expect.poll(() => articles.first().textContent()).toContain('Number 1');
    expect(await articles.count()).toBe(3);
    await page.getByRole('button', { name: 'Show 3 more' }).click();
    await expect.poll(() => articles.count()).toBe(6);
    expect(misdeeds).toEqual([]);
  });

  test('questions of more calls than a browser has connections can be answered', async () => {
    const names = Array.from({ length: 8 }, (_, at) => `ask${at}`);
    const { page, call, choose, misdeeds } = await explore(browser(), async ({ method, params, ask }) => {
      if (method === 'tools/list') return { tools: names.map((name) => tool(name)) };
      const { result } = await ask('elicitation/create', { message: String(params['name']), requestedSchema });
      return { content: [{ type: 'text', text: JSON.stringify(result) }] };
    });
    for (const name of names) {
      await choose(name);
      await call.click();
    }
    await page.getByRole('tab', { name: 'Asked 8 open' }).click();
    for (let left = names.length; left > 0; left -= 1) {
      await page.getByRole('tab', { name: `Asked ${left} open` }).waitFor();
      await page.getByRole('button', { name: 'Decline', exact: true }).first().click();
    }
    await expect.poll(() => page.getByRole('article').count()).toBe(0);
    expect(misdeeds).toEqual([]);
  });

  test.each(['Decline', 'Cancel'])('a form can be answered with %s', async (button) => {
    const ask = ({ ask: send }: ScriptedRequest): Promise<JsonObject> =>
      send('elicitation/create', { message: 'Who are you?', requestedSchema });
    const shown = await explore(browser(), asking(ask));
    await question(shown);
    await shown.page.getByRole('button', { name: button, exact: true }).click();
    expect(await got(shown)).toEqual({ action: button.toLowerCase() });
  });

  test('an address is shown whole with what its host spells, and opens by a click only', async () => {
    const ask = async ({ ask: send }: ScriptedRequest): Promise<JsonObject> => {
      const about = { mode: 'url', message: 'Log in', elicitationId: 'e' };
      await send('elicitation/create', { ...about, url: 'javascript:alert(1)' });
      return send('elicitation/create', { ...about, url: 'https://bank.example@xn--80ak6aa92e.invalid/a?b=c#d' });
    };
    const shown = await explore(browser(), asking(ask));
    const { page, misdeeds } = shown;
    await question(shown);
    const card = page.getByRole('article', { name: 'The server asks you to open a URL' });
    await card.getByText('javascript:alert(1)').waitFor();
    expect(await card.getByRole('link').count()).toBe(0);
    await card.getByRole('button', { name: 'Decline' }).click();
    await card.getByText('https://bank.example@xn--80ak6aa92e.invalid/a?b=c#d', { exact: true }).waitFor();
    await card.getByText('аррӏе.invalid').waitFor();
    await card.getByText('The text before the @ is a user name, not the host.').waitFor();
    expect(misdeeds).toEqual([]);
    const link = card.getByRole('link', { name: 'Open and accept' });
    expect(await link.getAttribute('rel')).toContain('noopener');
    const opening = page.waitForEvent('popup');
    await link.click();
    await (await opening).close();
    expect(await got(shown)).toEqual({ action: 'accept' });
  });

  test('a person writes the message that a server asks a model for', async () => {
    const ask = ({ ask: send }: ScriptedRequest): Promise<JsonObject> =>
      send('sampling/createMessage', {
        messages: [{ role: 'user', content: { type: 'text', text: 'Capital of France?' } }],
        systemPrompt: 'Be brief.',
        maxTokens: 77,
        modelPreferences: { hints: [{ name: 'small' }] },
      });
    const shown = await explore(browser(), asking(ask));
    const { page } = shown;
    await question(shown);
    for (const part of ['Capital of France?', 'Be brief.', '77', '{"hints":[{"name":"small"}]}'])
      await page.getByRole('article').getByText(part, { exact: true }).waitFor();
    await page.getByRole('textbox', { name: 'Answer' }).fill('Paris');
    await page.getByRole('button', { name: 'Send answer' }).click();
    expect(await got(shown)).toEqual({
      role: 'assistant',
      content: { type: 'text', text: 'Paris' },
      model: 'a person',
      stopReason: 'endTurn',
    });
  });

  test('a request for a message can be declined', async () => {
    const ask = ({ ask: send }: ScriptedRequest): Promise<JsonObject> =>
      send('sampling/createMessage', {
        messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }],
        maxTokens: 1,
      });
    const shown = await explore(browser(), asking(ask));
    await question(shown);
    await shown.page.getByRole('button', { name: 'Decline' }).click();
    expect(await got(shown)).toEqual({ code: -1 });
  });

  test('the server gets the roots that the person typed', async () => {
    const shown = await explore(
      browser(),
      asking(({ ask: send }) => send('roots/list', {})),
    );
    const { page, tab, call, server } = shown;
    await tab('Asked');
    await tab('Roots');
    await page.getByRole('button', { name: 'Add root' }).click();
    await page.getByRole('textbox', { name: 'URI of root 1' }).fill('http://example.com');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('file://').waitFor();
    await page.getByRole('textbox', { name: 'URI of root 1' }).fill('file:///home/ada');
    await page.getByRole('textbox', { name: 'Name of root 1' }).fill('home');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect
      .poll(() => server.received.map(({ method }) => method as string))
      .toContain('notifications/roots/list_changed');
    await tab('Explore');
    await call.click();
    expect(await got(shown)).toEqual({ roots: [{ uri: 'file:///home/ada', name: 'home' }] });
  });

  test('log messages are filtered by level, and the level can be set', async () => {
    const script: Script = ({ method, notify }) => {
      if (method === 'tools/list') return { tools: [tool('log')] };
      if (method !== 'tools/call') return {};
      notify('notifications/message', { level: 'debug', logger: 'db', data: { rows: 5 } });
      notify('notifications/message', { level: 'error', data: 'disk full' });
      return { content: [] };
    };
    const { page, tab, call, result, server } = await explore(browser(), script);
    await call.click();
    await result.getByText('no content').waitFor();
    await tab('Asked');
    await tab('Log');
    const lines = page.getByRole('list', { name: 'Log messages' }).getByRole('listitem');
    await expect.poll(() => lines.count()).toBe(2);
    await expect.poll(() => lines.nth(1).textContent()).toContain('db {"rows":5}');
    await page.getByRole('combobox', { name: 'Level to show' }).selectOption('warning');
    await expect.poll(() => lines.count()).toBe(1);
    await page.getByRole('combobox', { name: 'Level to request' }).selectOption('critical');
    await expect
      .poll(() => server.received.at(-1))
      .toMatchObject({ method: 'logging/setLevel', params: { level: 'critical' } });
    await lines.getByRole('button', { name: /^Show record/ }).click();
    await page
      .getByRole('grid', { name: 'Wire records' })
      .locator('[aria-selected=true]')
      .getByText('notifications/message')
      .waitFor();
  });
});
