import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  ErrorCode,
  ListPromptsRequestSchema,
  ListRootsResultSchema,
  McpError,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
  type CallToolResult,
  type LoggingLevel,
} from '@modelcontextprotocol/sdk/types.js';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { aborted } from '../../support/service.ts';
import { FORM, VERBS, VISIT } from './content.ts';

const text = (value: unknown): CallToolResult => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });
const result = (number: number): CallToolResult => ({
  ...text({ result: number }),
  structuredContent: { result: number },
});
const RESULT = { result: z.number() };

/** A server of the official SDK 1.x with a tool for each thing that a server can do. */
export function officialV1(): McpServer {
  const server = new McpServer(
    { name: 'official 1.x', version: '1.0.0' },
    { capabilities: { logging: {}, resources: { subscribe: true } } },
  );
  const pair = { a: z.number(), b: z.number() };
  server.registerTool('add', { inputSchema: pair, outputSchema: RESULT }, ({ a, b }) => result(a + b));

  server.registerTool('count', { inputSchema: { to: z.number() } }, async ({ to }, { _meta, sendNotification }) => {
    for (let progress = 1; progress <= to; progress += 1) {
      const params = { progressToken: _meta!.progressToken!, progress, total: to };
      await sendNotification({ method: 'notifications/progress', params });
      await delay(5);
    }
    return text('counted');
  });

  let cancelled = 0;
  server.registerTool('wait', {}, async ({ _meta, sendNotification, signal }) => {
    const params = { progressToken: _meta!.progressToken!, progress: 1 };
    await sendNotification({ method: 'notifications/progress', params });
    await aborted(signal);
    cancelled += 1;
    return text('never seen');
  });
  server.registerTool('cancellations', {}, () => text(cancelled));

  const message = { level: z.string(), data: z.string() };
  server.registerTool('log', { inputSchema: message }, async ({ level, data }, { sessionId }) => {
    await server.sendLoggingMessage({ level: level as LoggingLevel, data }, sessionId);
    return text('logged');
  });

  server.registerTool('grow', { inputSchema: { name: z.string() } }, ({ name }) => {
    server.registerTool(name, {}, () => text(name));
    return text('grown');
  });

  const subscribed = new Set<string>();
  server.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    subscribed.add(params.uri);
    return {};
  });
  server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    subscribed.delete(params.uri);
    return {};
  });
  server.registerTool('touch', { inputSchema: { uri: z.string() } }, async ({ uri }) => {
    if (subscribed.has(uri)) await server.server.sendResourceUpdated({ uri });
    return text('touched');
  });

  // Some questions name their call, and over HTTP come on its stream. Others do not.
  server.registerTool('sample', { inputSchema: { prompt: z.string() } }, async ({ prompt }) => {
    const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: prompt } }];
    return text(await server.server.createMessage({ messages, maxTokens: 100 }));
  });
  server.registerTool('ask', {}, async ({ requestId }) =>
    text(await server.server.elicitInput(FORM, { relatedRequestId: requestId })),
  );
  server.registerTool('visit', {}, async ({ requestId }) => {
    const params = { mode: 'url' as const, ...VISIT, elicitationId: 'sign-in-1' };
    return text(await server.server.elicitInput(params, { relatedRequestId: requestId }));
  });
  server.registerTool('roots', {}, async ({ sendRequest }) =>
    text(await sendRequest({ method: 'roots/list' }, ListRootsResultSchema)),
  );

  server.registerResource('fixed', 'feature://fixed', {}, ({ href }) => ({
    contents: [{ uri: href, text: 'A text.' }],
  }));
  server.registerResource('bytes', 'feature://bytes', {}, ({ href }) => ({ contents: [{ uri: href, blob: 'AAEC' }] }));
  const complete = { id: (value: string) => ['1', '12', '2'].filter((id) => id.startsWith(value)) };
  const template = new ResourceTemplate('feature://item/{id}', { list: undefined, complete });
  server.registerResource('item', template, {}, ({ href }, { id }) => ({
    contents: [{ uri: href, text: `Item ${String(id)}` }],
  }));

  const name = completable(z.string(), (value) => ['Ada', 'Alan'].filter((each) => each.startsWith(value)));
  const argsSchema = { name };
  for (const verb of VERBS) {
    server.registerPrompt(verb.toLowerCase(), { argsSchema }, (args) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `${verb} ${args.name}.` } }],
    }));
  }
  // Each on its own page, which the SDK itself cannot do.
  server.server.setRequestHandler(ListPromptsRequestSchema, ({ params }) => {
    const index = Number(params?.cursor ?? 0);
    const verb = VERBS[index];
    if (verb === undefined) throw new McpError(ErrorCode.InvalidParams, 'There is no such page');
    const prompts = [{ name: verb.toLowerCase(), arguments: [{ name: 'name', required: true }] }];
    return index + 1 < VERBS.length ? { prompts, nextCursor: String(index + 1) } : { prompts };
  });
  return server;
}
