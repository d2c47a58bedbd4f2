import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { root, startServer } from '../../support/process.ts';

/** The compiled files of the notes server in `examples/moving/notes`. */
export type NotesServer = 'official-sdk-1' | 'official-sdk-2' | 'everwire';

const fileOf = (name: NotesServer): string => `${root}dist/examples/moving/notes/${name}.js`;

export async function startNotes(name: NotesServer): Promise<string> {
  const server = await startServer([fileOf(name)], { PORT: '0' });
  onTestFinished(async () => void (await server.stop()));
  return server.url;
}

/** The official client, with all its handlers, and the notifications that it got. */
export async function notesClient(transport: Transport) {
  const client = new Client(
    { name: 'reader', version: '1.0.0' },
    { capabilities: { elicitation: {}, sampling: {}, roots: {} } },
  );
  const heard: unknown[] = [];
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    heard.push(['asked', params.message]);
    return { action: 'accept', content: { sure: true } };
  });
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
    heard.push(['sampled', params.messages]);
    return { role: 'assistant', model: 'test', content: { type: 'text', text: 'All is well' } };
  });
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///home/ada', name: 'home' }] }));
  for (const schema of [
    LoggingMessageNotificationSchema,
    ResourceListChangedNotificationSchema,
    ResourceUpdatedNotificationSchema,
    ToolListChangedNotificationSchema,
  ] as const) {
    client.setNotificationHandler(schema, ({ method, params }) => void heard.push([method, params]));
  }
  await client.connect(transport);
  onTestFinished(() => client.close());
  return { client, heard };
}

export function overHttp(url: string, token = 'token-of-ada'): Transport {
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  return new StreamableHTTPClientTransport(new URL(url), { requestInit });
}

/** @param server one of the servers, or the path of another file */
export function overStdio(server: NotesServer | `/${string}`): Transport {
  const file = server.startsWith('/') ? server : fileOf(server as NotesServer);
  return new StdioClientTransport({ command: process.execPath, args: [file, '--stdio'] });
}

/** Uses everything that the notes server has. The result is what a client can see. */
export async function tour(transport: Transport): Promise<Record<string, unknown>> {
  const { client, heard } = await notesClient(transport);
  const call = (name: string, args: Record<string, unknown> = {}) => client.callTool({ name, arguments: args });
  /** Waits for a notification, which may come after the result of the call that caused it. */
  const until = (method: string) =>
    vi.waitFor(() => {
      if (!heard.some((each) => (each as unknown[])[0] === method)) throw new Error(`no ${method}`);
    });
  const seen: Record<string, unknown> = {};
  seen['server'] = [client.getServerVersion(), client.getInstructions()];
  seen['capabilities'] = Object.keys(client.getServerCapabilities() ?? {}).toSorted();
  seen['tools'] = (await client.listTools()).tools.map(shown);
  seen['templates'] = await client.listResourceTemplates();
  // An argument without `required` is optional.
  const { prompts } = await client.listPrompts();
  for (const argument of prompts.flatMap(({ arguments: given = [] }) => given)) argument.required ??= false;
  seen['prompts'] = prompts;

  await client.subscribeResource({ uri: 'notes://all' });
  seen['added'] = await call('add_note', { title: 'Milk', text: 'Buy milk', tags: ['shop', 'food'] });
  await until('notifications/resources/updated');
  await until('notifications/resources/list_changed');
  await client.unsubscribeResource({ uri: 'notes://all' });
  seen['second'] = await call('add_note', { title: 'Bread', text: 'Bake bread' });
  seen['invalid'] = (await call('add_note', { title: '' })).isError;
  seen['found'] = await call('find_notes', { words: 'bread' });
  seen['counted'] = await call('count_notes');

  seen['resources'] = (await client.listResources()).resources.map(({ uri, name }) => [uri, name]);
  seen['all'] = await client.readResource({ uri: 'notes://all' });
  seen['one'] = await client.readResource({ uri: 'notes://note/2' });
  seen['none'] = await client.readResource({ uri: 'notes://note/9' }).catch((error: unknown) => error instanceof Error);
  seen['completedId'] = await client.complete({
    ref: { type: 'ref/resource', uri: 'notes://note/{id}' },
    argument: { name: 'id', value: '2' },
  });

  seen['prompt'] = (await client.getPrompt({ name: 'review', arguments: { tag: 'shop', style: 'kindly' } })).messages;
  seen['noTag'] = await client.getPrompt({ name: 'review' }).catch((error: { code: number }) => error.code);
  seen['completedTag'] = await client.complete({
    ref: { type: 'ref/prompt', name: 'review' },
    argument: { name: 'tag', value: 's' },
  });
  seen['tags'] = await client.request({ method: 'notes/tags' }, z.object({ tags: z.array(z.string()) }).strip());

  const progress: unknown[] = [];
  seen['reindexed'] = await client.callTool({ name: 'reindex', arguments: {} }, undefined, {
    onprogress: (each) => void progress.push(each),
  });
  await until('notifications/message');
  seen['progress'] = progress;
  const abort = new AbortController();
  const slow = client.callTool({ name: 'reindex', arguments: { pause: 60_000 } }, undefined, { signal: abort.signal });
  abort.abort('enough');
  seen['cancelled'] = await slow.catch((error: unknown) => String(error));

  seen['summary'] = await call('summarize');
  seen['missing'] = await call('delete_note', { id: '9' });
  seen['deleted'] = await call('delete_note', { id: '1' });
  seen['left'] = await client.readResource({ uri: 'notes://all' });
  seen['unlocked'] = await call('unlock');
  await until('notifications/tools/list_changed');
  seen['secret'] = await call('secret');
  // Notifications of one kind may come before or after those of another.
  seen['heard'] = heard.map((each) => JSON.stringify(each)).toSorted();
  return seen;
}

/** A tool as a list shows it. The SDK writes its schemas with other words for the same. */
export function shown({ name, title, description, annotations, inputSchema, outputSchema }: any): unknown {
  const plain = (schema: any): unknown => schema && { properties: schema.properties, required: schema.required ?? [] };
  return { name, title, description, annotations, input: plain(inputSchema), output: plain(outputSchema) };
}
