import { connect, RpcError } from 'everwire/client';

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
  const client = await connect(url, {
    clientInfo: { name: 'reader', version: '1.0.0' },
    headers: { authorization: `Bearer ${token}` },
    onelicit: ({ message }) => {
      report(message);
      return { action: 'accept', content: { sure: true } };
    },
    onsample: () => ({ role: 'assistant', model: 'a-model', content: { type: 'text', text: 'All is well' } }),
    onroots: () => [{ uri: 'file:///home/ada', name: 'home' }],
    onlog: ({ level }) => report(`log: ${level}`),
    onchange: ({ type }) => {
      if (type === 'tools') report('tools changed');
    },
  });
  report(`connected to ${client.serverInfo?.name}`);
  // #endregion connect

  // #region calls
  const subscription = await client.subscribe('notes://all', () => report('changed: notes://all'));
  await client.callTool('add_note', { title: 'Milk', text: 'Buy milk', tags: ['shop'] });

  const tools = await client.listTools();
  report(tools.map(({ name }) => name).join());
  const { contents } = await client.readResource('notes://note/1');
  report(contents.map((each) => ('text' in each ? each.text : '')).join());
  const { messages } = await client.getPrompt('review', { tag: 'shop' });
  report(JSON.stringify(messages));
  const { values } = await client.complete({ type: 'ref/prompt', name: 'review' }, { name: 'tag', value: 's' });
  report(values.join());
  const { tags } = await client.request('notes/tags');
  report(tags.join());
  // #endregion calls

  // #region options
  const { signal } = new AbortController();
  await client.callTool('reindex', undefined, {
    signal,
    timeout: 10_000,
    onprogress: ({ progress, total }) => report(`${progress} of ${total}`),
  });
  // #endregion options

  await client.callTool('summarize');
  await client.callTool('delete_note', { id: '1' });
  await client.callTool('unlock');

  await finished();

  // #region errors
  try {
    await client.readResource('notes://nowhere');
  } catch (error) {
    if (error instanceof RpcError) report('refused');
  }
  await subscription.close();
  await client.close();
  // #endregion errors
}
