import {
  completable,
  inputRequired,
  inputResponse,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceTemplate,
  type CallToolResult,
  type LoggingLevel,
  type ServerContext,
  type ServerNotifier,
} from '@modelcontextprotocol/server';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { aborted } from '../../support/service.ts';
import { FORM, VERBS, VISIT } from './content.ts';

const text = (value: unknown): CallToolResult => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });
const result = (number: number): CallToolResult => ({
  ...text({ result: number }),
  structuredContent: { result: number },
});

/** State that outlives a request if each request has its own server, as over HTTP without sessions. */
export interface Shared {
  readonly grown: Set<string>;
  cancelled: number;
  /** Notifies all subscribers. Without it, the server has a single connection. */
  notify?: ServerNotifier;
}

/** A server of the official SDK 2.x, of both eras, with a tool for each thing that a server can do. */
export function officialV2(shared: Shared): McpServer {
  const server = new McpServer(
    { name: 'official 2.x', version: '1.0.0' },
    {
      capabilities: {
        logging: {},
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
      },
    },
  );
  const pair = z.object({ a: z.number(), b: z.number() });
  const outputSchema = z.object({ result: z.number() });
  server.registerTool('add', { inputSchema: pair, outputSchema }, ({ a, b }) => result(a + b));

  const report = ({ mcpReq }: ServerContext, progress: number, total?: number): Promise<void> => {
    const { _meta: meta, notify } = mcpReq;
    const params = { progressToken: meta!.progressToken!, progress, ...(total && { total }) };
    return notify({ method: 'notifications/progress', params });
  };
  server.registerTool('count', { inputSchema: z.object({ to: z.number() }) }, async ({ to }, context) => {
    for (let step = 1; step <= to; step += 1) {
      await report(context, step, to);
      await delay(5);
    }
    return text('counted');
  });
  server.registerTool('wait', {}, async (context) => {
    await report(context, 1);
    await aborted(context.mcpReq.signal);
    shared.cancelled += 1;
    return text('never seen');
  });
  server.registerTool('cancellations', {}, () => text(shared.cancelled));

  const message = z.object({ level: z.string(), data: z.string() });
  server.registerTool('log', { inputSchema: message }, async ({ level, data }, { mcpReq }) => {
    await mcpReq.log(level as LoggingLevel, data);
    return text('logged');
  });

  const add = (name: string): void => void server.registerTool(name, {}, () => text(name));
  for (const name of shared.grown) add(name);
  server.registerTool('grow', { inputSchema: z.object({ name: z.string() }) }, ({ name }) => {
    shared.grown.add(name);
    if (shared.notify) shared.notify.toolsChanged();
    else add(name);
    return text('grown');
  });

  // Sessions subscribe with a request. Without sessions, a stream does it, which the SDK handles.
  const subscribed = new Set<string>();
  server.server.setRequestHandler('resources/subscribe', ({ params }) => {
    subscribed.add(params.uri);
    return {};
  });
  server.server.setRequestHandler('resources/unsubscribe', ({ params }) => {
    subscribed.delete(params.uri);
    return {};
  });
  server.registerTool('touch', { inputSchema: z.object({ uri: z.string() }) }, async ({ uri }, { mcpReq }) => {
    if (shared.notify) shared.notify.resourceUpdated(uri);
    else if (mcpReq.envelope || subscribed.has(uri)) await server.server.sendResourceUpdated({ uri });
    return text('touched');
  });

  server.registerTool('sample', { inputSchema: z.object({ prompt: z.string() }) }, ({ prompt }, { mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'sample');
    if (answer.kind === 'sampling') return text(answer.result);
    const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: prompt } }];
    return inputRequired({ inputRequests: { sample: inputRequired.createMessage({ messages, maxTokens: 100 }) } });
  });
  server.registerTool('ask', {}, ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'ask');
    if (answer.kind === 'elicit') return text(answer);
    return inputRequired({ inputRequests: { ask: inputRequired.elicit(FORM) } });
  });
  server.registerTool('visit', {}, ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'visit');
    if (answer.kind === 'elicit') return text(answer);
    return inputRequired({ inputRequests: { visit: inputRequired.elicitUrl(VISIT) } });
  });
  server.registerTool('roots', {}, ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'roots');
    if (answer.kind === 'roots') return text(answer.roots);
    return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } });
  });

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
  const argsSchema = z.object({ name });
  for (const verb of VERBS) {
    server.registerPrompt(verb.toLowerCase(), { argsSchema }, (args) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `${verb} ${args.name}.` } }],
    }));
  }
  // Each on its own page, which the SDK itself cannot do.
  server.server.setRequestHandler('prompts/list', ({ params }) => {
    const index = Number(params?.cursor ?? 0);
    const verb = VERBS[index];
    if (verb === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such page');
    const prompts = [{ name: verb.toLowerCase(), arguments: [{ name: 'name', required: true }] }];
    return index + 1 < VERBS.length ? { prompts, nextCursor: String(index + 1) } : { prompts };
  });
  return server;
}
