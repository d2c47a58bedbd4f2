import { expect, test } from 'vitest';
import { describeInBrowser } from './support/browser.ts';
import { explore, tool } from './support/explore.ts';
import type { Script } from './support/scripted-server.ts';

/** A server with tools, and what they answer. */
function tools(list: object[], answer: Script = () => ({ content: [] })): Script {
  return (request) => (request.method === 'tools/list' ? { tools: list } : answer(request));
}

const text = (value: string): object => ({ type: 'text', text: value });

describeInBrowser('Explore', (browser) => {
  test('two clicks lead from the address to the result of a tool', async () => {
    const echo = { type: 'object', properties: { message: { type: 'string', default: 'hello' } } };
    const list = [tool('first'), tool('echo', { title: 'Echo it', inputSchema: echo })];
    const script = tools(list, ({ params }) => ({ content: [text(`You said ${params['arguments'].message}`)] }));
    const { page, call, result, server, misdeeds } = await explore(browser(), script);
    await page.getByRole('button', { name: 'Echo it' }).click();
    await call.click();
    await result.getByText('You said hello').waitFor();
    // Its size is that of its record in Wire, and no other.
    expect(await result.getByRole('status').textContent()).toMatch(/^Result after [\d.]+ m?s$/);
    expect(server.received).toMatchObject([
      { method: 'tools/call', params: { name: 'echo', arguments: { message: 'hello' } } },
    ]);
    expect(misdeeds).toEqual([]);
  });

  test('a running call shows its progress, and can be cancelled while others run', async () => {
    let cancelled = 0;
    const script = tools([tool('slow'), tool('fast')], async ({ params, notify }) => {
      if (params['name'] === 'fast') return { content: [text('at once')] };
      notify('notifications/progress', {
        progressToken: params['_meta'].progressToken,
        progress: 3,
        total: 10,
        message: 'third of ten',
      });
      await expect.poll(() => cancelled, { timeout: 60_000 }).toBe(1);
      return undefined;
    });
    const { page, call, result, choose, server } = await explore(browser(), script);
    await call.click();
    await result.getByText('third of ten').waitFor();
    expect(await page.getByRole('progressbar').getAttribute('value')).toBe('3');
    await choose('fast');
    await call.click();
    await result.getByText('at once').waitFor();
    await choose('slow');
    await result.getByRole('button', { name: 'Cancel' }).click();
    await result.getByText('Cancelled').waitFor();
    await expect.poll(() => server.received.map(({ method }) => method as string)).toContain('notifications/cancelled');
    cancelled = 1;
  });

  test('errors, failed tools and refused requests look different from results', async () => {
    const script = tools([tool('failing'), tool('refusing')], ({ params }) =>
      params['name'] === 'failing'
        ? { isError: true, content: [text('no such file')] }
        : { code: -32099, message: 'Not today', data: { until: 'tomorrow' } },
    );
    const { page, call, result, choose } = await explore(browser(), script);
    await call.click();
    await result.getByText('The tool reported an error').waitFor();
    await result.getByText('no such file').waitFor();
    await choose('refusing');
    await call.click();
    await result.getByText('Error -32099').waitFor();
    await result.getByText('Not today').waitFor();
    await result.getByRole('tree', { name: 'Data' }).getByText('tomorrow').waitFor();
    await page.getByRole('button', { name: 'JSON' }).click();
    await page.getByRole('textbox', { name: 'Arguments as JSON' }).fill('{"n":12345678901234567890123}');
    await call.click();
    await result.getByText('Nothing was sent.').waitFor();
  });

  test('numbers of a structured result are as the server wrote them, and it is checked', async () => {
    const outputSchema = { type: 'object', properties: { price: { type: 'string' } } };
    const { call, result, page } = await explore(
      browser(),
      tools(
        [tool('price', { outputSchema })],
        () => '{"content":[],"structuredContent":{"price":1.50,"id":12345678901234567890}}',
      ),
    );
    await call.click();
    const tree = result.getByRole('tree', { name: 'Structured content' });
    await tree.getByText('1.50').waitFor();
    await tree.getByText('12345678901234567890').waitFor();
    await result.getByText('does not match the tool’s outputSchema').waitFor();
    await result.getByRole('button', { name: 'Show in Wire' }).click();
    await page
      .getByRole('grid', { name: 'Wire records' })
      .locator('[aria-selected=true]')
      .getByText('result')
      .waitFor();
  });

  test('a long result is shown in part and saved whole', async () => {
    const long = 'x'.repeat(3_000_000);
    const { call, result, page } = await explore(
      browser(),
      tools([tool('dump')], () => ({ content: [text(long)] })),
    );
    await call.click();
    const saving = page.waitForEvent('download');
    await result.getByRole('button', { name: 'Save all' }).click();
    const file = await saving;
    expect(file.suggestedFilename()).toBe('dump.json');
    let saved = '';
    for await (const chunk of await file.createReadStream()) saved += chunk;
    expect((JSON.parse(saved) as { result: { content: object[] } }).result.content).toEqual([text(long)]);
    expect((await result.textContent())!.length).toBeLessThan(100_000);
  });

  test('all pages of a list can be reached and searched, also if the list never ends', async () => {
    const script: Script = ({ method, params: { cursor = '0' } }) => {
      const next = { nextCursor: String(Number(cursor) + 1) };
      if (method === 'tools/list') return { tools: [tool(`tool-${cursor}`)], ...(cursor !== '4' && next) };
      return method === 'prompts/list' ? { prompts: [{ name: `prompt-${cursor}` }], ...next } : {};
    };
    const { page, tab } = await explore(browser(), script);
    const entries = page.getByRole('list', { name: /^(?:tools|prompts)$/ }).getByRole('button');
    await expect.poll(() => entries.allTextContents()).toEqual(['tool-0']);
    await page.getByRole('button', { name: 'Load more' }).click();
    await expect.poll(() => entries.allTextContents()).toEqual(['tool-0', 'tool-1']);
    await page.getByRole('button', { name: 'Load all' }).click();
    await expect.poll(() => entries.count()).toBe(5);
    expect(await page.getByRole('button', { name: 'Load more' }).count()).toBe(0);
    await page.getByRole('searchbox', { name: 'Search tools' }).fill('tool 3');
    await expect.poll(() => entries.allTextContents()).toEqual(['tool-3']);
    await tab('Prompts');
    await page.getByRole('button', { name: 'Load all' }).click();
    await page.getByText('101 loaded. The server has more.').waitFor();
  });

  test('an argument of a prompt is completed with the keyboard', async () => {
    const script: Script = ({ method, params }) => {
      if (method === 'prompts/list')
        return { prompts: [{ name: 'trip', arguments: [{ name: 'city', required: true }] }] };
      if (method === 'prompts/get') {
        const content = text(`Plan a trip to ${params['arguments'].city}`);
        return { messages: [{ role: 'user', content }] };
      }
      if (method !== 'completion/complete') return {};
      return {
        completion: { values: ['Paris', 'Prague'].filter((city) => city.startsWith(params['argument'].value)) },
      };
    };
    const { page, tab, result, server } = await explore(browser(), script);
    await tab('Prompts');
    await page.getByRole('button', { name: 'Get' }).click();
    await page.getByText('This value is required.').waitFor();
    await page.getByRole('combobox', { name: /^city/ }).pressSequentially('Pr');
    await expect.poll(() => page.getByRole('option').allTextContents()).toEqual(['Prague']);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await result.getByText('Plan a trip to Prague').waitFor();
    expect(server.received.at(-1)).toMatchObject({ params: { name: 'trip', arguments: { city: 'Prague' } } });
  });

  test('a template makes a URI, and its resource says when it changed after it was read', async () => {
    const script: Script = ({ method, params, notify }) => {
      if (method === 'resources/templates/list')
        return { resourceTemplates: [{ uriTemplate: 'note://{name}{?lang}', name: 'note' }] };
      if (method === 'resources/list') return { resources: [{ uri: 'note://a', name: 'a' }] };
      if (method === 'tools/list') return { tools: [tool('touch')] };
      if (method === 'tools/call') notify('notifications/resources/updated', { uri: 'note://a' });
      return method === 'resources/read' ? { contents: [{ uri: params['uri'], text: 'the note' }] } : { content: [] };
    };
    const { page, tab, call, result, server } = await explore(browser(), script);
    await tab('Templates');
    await page
      .getByRole('textbox', { name: /^name/ })
      .or(page.getByRole('combobox', { name: /^name/ }))
      .fill('x y');
    await page.getByRole('button', { name: 'Read', exact: true }).click();
    await result.getByText('the note').waitFor();
    // A completion may come later.
    const read = server.received.findLast(({ method }) => method === 'resources/read');
    expect(read).toMatchObject({ params: { uri: 'note://x%20y' } });
    await tab('Resources');
    await page.getByRole('button', { name: 'Read', exact: true }).click();
    await result.getByText('the note').waitFor();
    await tab('Tools');
    await call.click();
    await result.getByText('no content').waitFor();
    await tab('Resources');
    await page.getByText('after it was read').waitFor();
    await page.getByRole('button', { name: 'Read again' }).click();
    await expect.poll(() => page.getByText('after it was read').count()).toBe(0);
  });

  test('a call that becomes a task is followed to its result', async () => {
    let polls = 0;
    const answer: Script = ({ method, params }) => {
      if (method === 'tasks/get')
        return { taskId: 't1', status: (polls += 1) < 2 ? 'working' : 'completed', pollInterval: 250 };
      if (method === 'tasks/result') return { content: [text('done at last')] };
      return { task: { taskId: 't1', status: 'working', pollInterval: 250, asked: params['task'] } };
    };
    const list = [tool('research', { execution: { taskSupport: 'required' } })];
    const described = { capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } } };
    const { call, result, server } = await explore(browser(), tools(list, answer), { described });
    await call.click();
    await result.getByText('Task t1').waitFor();
    await result.getByText('done at last').waitFor();
    await result.getByText('completed', { exact: true }).waitFor();
    expect(server.received[0]).toMatchObject({ params: { name: 'research', task: {} } });
  });
});
