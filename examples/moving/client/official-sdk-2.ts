import { Client, ProtocolError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { z } from 'zod';

/**
 * Uses the notes server, and reports what happens.
 *
 * @param finished resolves when the client may be closed: notifications may come after the results of calls.
 */
export async function visit(
  url: string,
  token: string,
  report: (line: string) => void,
  finished: () => Promise<void>,
): Promise<void> {
  // #region connect
  const client = new Client(
    { name: 'reader', version: '1.0.0' },
    {
      capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
      versionNegotiation: { mode: 'auto' },
      listChanged: { tools: { autoRefresh: false, onChanged: () => report('tools changed') } },
    },
  );

  client.setRequestHandler('elicitation/create', ({ params }) => {
    report(params.message);
    return { action: 'accept', content: { sure: true } };
  });
  client.setRequestHandler('sampling/createMessage', () => ({
    role: 'assistant',
    model: 'a-model',
    content: { type: 'text', text: 'All is well' },
  }));
  client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///home/ada', name: 'home' }] }));
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => report(`changed: ${params.uri}`));

  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  report(`connected to ${client.getServerVersion()?.name}`);
  // #endregion connect

  // #region calls
  const subscription = await client.listen({ resourceSubscriptions: ['notes://all'] });
  await client.callTool({ name: 'add_note', arguments: { title: 'Milk', text: 'Buy milk', tags: ['shop'] } });

  const { tools } = await client.listTools();
  report(tools.map(({ name }) => name).join());
  const { contents } = await client.readResource({ uri: 'notes://note/1' });
  report(contents.map((each) => ('text' in each ? each.text : '')).join());
  const { messages } = await client.getPrompt({ name: 'review', arguments: { tag: 'shop' } });
  report(JSON.stringify(messages));
  const { completion } = await client.complete({
    ref: { type: 'ref/prompt', name: 'review' },
    argument: { name: 'tag', value: 's' },
  });
  report(completion.values.join());
  const { tags } = await client.request({ method: 'notes/tags' }, z.looseObject({ tags: z.array(z.string()) }));
  report(tags.join());
  // #endregion calls

  // #region options
  const { signal } = new AbortController();
  await client.callTool(
    { name: 'reindex' },
    {
      signal,
      timeout: 10_000,
      resetTimeoutOnProgress: true,
      onprogress: ({ progress, total }) => report(`${progress} of ${total}`),
    },
  );
  // #endregion options

  await client.callTool({ name: 'summarize' });
  await client.callTool({ name: 'delete_note', arguments: { id: '1' } });
  await client.callTool({ name: 'unlock' });

  await finished();

  // #region errors
  try {
    await client.readResource({ uri: 'notes://nowhere' });
  } catch (error) {
    if (error instanceof ProtocolError) report('refused');
  }
  await subscription.close();
  await client.close();
  // #endregion errors
}
