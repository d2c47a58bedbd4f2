import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { shown } from './notes.ts';

/** Uses everything that the notes server has, with the official client 2.x and 2026-07-28. */
export async function modernTour(url: string): Promise<Record<string, unknown>> {
  const client = new Client(
    { name: 'reader', version: '1.0.0' },
    {
      capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    },
  );
  const heard: string[] = [];
  const note = (...what: unknown[]): void => void heard.push(JSON.stringify(what));
  client.setRequestHandler('elicitation/create', ({ params }) => {
    note('asked', params.message);
    return { action: 'accept', content: { sure: true } };
  });
  client.setRequestHandler('sampling/createMessage', ({ params }) => {
    note('sampled', params.messages);
    return { role: 'assistant', model: 'test', content: { type: 'text', text: 'All is well' } };
  });
  client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///home/ada', name: 'home' }] }));
  client.setNotificationHandler('notifications/resources/list_changed', ({ method }) => note(method));
  client.setNotificationHandler('notifications/tools/list_changed', ({ method }) => note(method));
  client.setNotificationHandler('notifications/resources/updated', ({ method, params }) => note(method, params.uri));
  const requestInit = { headers: { authorization: 'Bearer token-of-ada' } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  onTestFinished(() => client.close());

  const call = (name: string, args: Record<string, unknown> = {}) =>
    client.callTool({ name, arguments: args }).then(visible);
  const until = (method: string) =>
    vi.waitFor(() => {
      if (!heard.some((each) => each.includes(method))) throw new Error(`no ${method}`);
    });
  const seen: Record<string, unknown> = {};
  seen['server'] = [client.getServerVersion(), client.getInstructions()];
  const subscription = await client.listen({
    toolsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ['notes://all'],
  });
  onTestFinished(() => subscription.close());
  seen['tools'] = (await client.listTools()).tools.map(shown);
  seen['added'] = await call('add_note', { title: 'Milk', text: 'Buy milk', tags: ['shop', 'food'] });
  await until('notifications/resources/updated');
  await until('notifications/resources/list_changed');
  seen['invalid'] = (await client.callTool({ name: 'add_note', arguments: { title: '' } })).isError;
  seen['found'] = await call('find_notes', { words: 'milk' });
  seen['counted'] = await call('count_notes');
  seen['all'] = visible(await client.readResource({ uri: 'notes://all' }));
  seen['one'] = visible(await client.readResource({ uri: 'notes://note/1' }));
  seen['none'] = await client.readResource({ uri: 'notes://note/9' }).catch((error: unknown) => error instanceof Error);
  const completed = await client.complete({
    ref: { type: 'ref/prompt', name: 'review' },
    argument: { name: 'tag', value: 's' },
  });
  seen['completed'] = completed.completion.values;
  seen['prompt'] = (await client.getPrompt({ name: 'review', arguments: { tag: 'shop' } })).messages;
  seen['tags'] = visible(await client.request({ method: 'notes/tags' }, z.looseObject({ tags: z.array(z.string()) })));
  const progress: unknown[] = [];
  seen['reindexed'] = visible(
    await client.callTool({ name: 'reindex', arguments: {} }, { onprogress: (each) => void progress.push(each) }),
  );
  seen['progress'] = progress;
  seen['summary'] = await call('summarize');
  seen['missing'] = await call('delete_note', { id: '9' });
  seen['deleted'] = await call('delete_note', { id: '1' });
  seen['unlocked'] = await call('unlock');
  await until('notifications/tools/list_changed');
  seen['secret'] = await call('secret');
  seen['heard'] = heard.toSorted();
  return seen;
}

/** A result without what describes the server and caching. */
function visible(result: Record<string, unknown>): unknown {
  const hidden = new Set(['_meta', 'ttlMs', 'cacheScope', 'resultType']);
  return Object.fromEntries(Object.entries(result).filter(([key]) => !hidden.has(key)));
}
