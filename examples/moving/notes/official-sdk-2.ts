// #region imports
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  completable,
  createMcpHandler,
  inputRequired,
  McpServer,
  oauthMetadataResponse,
  OAuthError,
  OAuthErrorCode,
  requireBearerAuth,
  ResourceTemplate,
  type ServerNotifier,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { Store } from './store.ts';
// #endregion imports

const store = new Store();
let locked = true;

/** Each request over HTTP gets a server of its own. Over stdio, each connection does. */
function createNotes(notify?: ServerNotifier): McpServer {
  // #region server
  const server = new McpServer(
    { name: 'notes', version: '1.0.0' },
    { instructions: 'Search before you add a note.', capabilities: { logging: {}, resources: { subscribe: true } } },
  );
  // #endregion server

  // #region tool
  server.registerTool(
    'add_note',
    {
      title: 'Add a note',
      description: 'Stores a note',
      inputSchema: z.object({ title: z.string().min(1), text: z.string(), tags: z.array(z.string()).default([]) }),
      outputSchema: z.object({ id: z.string(), count: z.number() }),
    },
    async ({ title, text, tags }) => {
      const { id } = store.add(title, text, tags);
      const structuredContent = { id, count: store.all().length };
      notify?.resourcesChanged();
      notify?.resourceUpdated('notes://all');
      return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
    },
  );
  // #endregion tool

  server.registerTool(
    'find_notes',
    { description: 'Finds notes', inputSchema: z.object({ words: z.string() }), annotations: { readOnlyHint: true } },
    async ({ words }) => ({
      content: store.find(words).map(({ id, title }) => ({
        type: 'resource_link' as const,
        uri: `notes://note/${id}`,
        name: title,
      })),
    }),
  );

  server.registerTool('count_notes', {}, async () => ({
    content: [{ type: 'text', text: String(store.all().length) }],
  }));

  // #region elicitation
  server.registerTool(
    'delete_note',
    { description: 'Deletes a note', inputSchema: z.object({ id: z.string() }) },
    async ({ id }, ctx) => {
      const note = store.get(id);
      if (!note) throw new Error(`There is no note ${id}`);
      const answer = ctx.mcpReq.inputResponses?.['sure'] as { action: string; content?: { sure: boolean } } | undefined;
      if (!answer) {
        return inputRequired({
          inputRequests: {
            sure: inputRequired.elicit({
              message: `Delete "${note.title}"?`,
              requestedSchema: { type: 'object', properties: { sure: { type: 'boolean' } }, required: ['sure'] },
            }),
          },
        });
      }
      if (answer.action !== 'accept' || !answer.content?.sure) return { content: [{ type: 'text', text: 'Kept' }] };
      store.delete(id);
      return { content: [{ type: 'text', text: 'Deleted' }] };
    },
  );
  // #endregion elicitation

  // #region sampling
  server.registerTool('summarize', { description: 'Summarizes all notes' }, async (ctx) => {
    const { roots, summary } = (ctx.mcpReq.inputResponses ?? {}) as Record<string, any>;
    if (!roots || !summary) {
      return inputRequired({
        inputRequests: {
          roots: inputRequired.listRoots(),
          summary: inputRequired.createMessage({
            maxTokens: 100,
            messages: [
              {
                role: 'user',
                content: {
                  type: 'text',
                  text: store
                    .all()
                    .map(({ text }) => text)
                    .join('\n'),
                },
              },
            ],
          }),
        },
      });
    }
    const names = roots.roots.map(({ name }: { name?: string }) => name).join();
    return { content: [{ type: 'text', text: `${summary.content.text} (${names})` }] };
  });
  // #endregion sampling

  // #region progress
  server.registerTool(
    'reindex',
    { description: 'Reads all notes again', inputSchema: z.object({ pause: z.number().default(20) }) },
    async ({ pause }, ctx) => {
      const notes = store.all();
      for (const [done, { title }] of notes.entries()) {
        const progressToken = ctx.mcpReq._meta?.progressToken;
        if (progressToken !== undefined) {
          await ctx.mcpReq.notify({
            method: 'notifications/progress',
            params: { progressToken, progress: done + 1, total: notes.length, message: title },
          });
        }
        await delay(pause, undefined, { signal: ctx.mcpReq.signal });
      }
      await ctx.mcpReq.log('info', { notes: notes.length }, 'index');
      return { content: [{ type: 'text', text: 'Done' }] };
    },
  );
  // #endregion progress

  // #region changes
  const secret = server.registerTool('secret', { description: 'Not for everyone' }, async ({ http }) => ({
    content: [
      {
        type: 'text',
        text: `${http?.authInfo?.clientId ?? 'nobody'} may ${http?.authInfo?.scopes.join() ?? 'nothing'}`,
      },
    ],
  }));
  if (locked) secret.disable();

  server.registerTool('unlock', { description: 'Shows the secret tool' }, async () => {
    locked = false;
    secret.enable();
    notify?.toolsChanged();
    return { content: [{ type: 'text', text: 'Unlocked' }] };
  });
  // #endregion changes

  server.registerResource('all', 'notes://all', { mimeType: 'text/plain' }, async (uri) => ({
    contents: [
      {
        uri: uri.href,
        mimeType: 'text/plain',
        text: store
          .all()
          .map(({ title }) => title)
          .join('\n'),
      },
    ],
  }));

  server.registerResource(
    'note',
    new ResourceTemplate('notes://note/{id}', {
      list: async () => ({
        resources: store.all().map(({ id, title }) => ({ uri: `notes://note/${id}`, name: title })),
      }),
      complete: {
        id: (value) =>
          store
            .all()
            .map(({ id }) => id)
            .filter((id) => id.startsWith(value)),
      },
    }),
    { description: 'One note', mimeType: 'text/plain' },
    async (uri, { id }) => {
      const note = store.get(String(id));
      if (!note) throw new Error('There is no such note');
      return { contents: [{ uri: uri.href, mimeType: 'text/plain', text: note.text }] };
    },
  );

  server.registerPrompt(
    'review',
    {
      description: 'Review the notes with a tag',
      argsSchema: z.object({
        tag: completable(z.string().describe('The tag'), (value) =>
          store.tags().filter((tag) => tag.startsWith(value)),
        ),
        style: z.string().optional(),
      }),
    },
    ({ tag, style }) => ({
      messages: [
        { role: 'user', content: { type: 'text', text: `Review my notes about ${tag}${style ? `, ${style}` : ''}.` } },
      ],
    }),
  );

  // #region low-level
  server.server.setRequestHandler('notes/tags', { params: z.looseObject({}).optional() }, () => ({
    tags: store.tags(),
  }));
  // #endregion low-level

  return server;
}

// #region serve
function serveHttp(port: number): void {
  const handler = createMcpHandler(() => createNotes(handler.notify));
  const gate = requireBearerAuth({
    verifier: {
      async verifyAccessToken(token) {
        const user = await store.userOf(token);
        if (!user) throw new OAuthError(OAuthErrorCode.InvalidToken, 'The token is not valid');
        return { token, clientId: user.name, scopes: user.scopes, expiresAt: user.expiresAt };
      },
    },
    requiredScopes: ['notes'],
    resourceMetadataUrl: 'https://notes.example/.well-known/oauth-protected-resource/mcp',
  });
  const metadata = {
    resourceServerUrl: new URL('https://notes.example/mcp'),
    oauthMetadata: {
      issuer: 'https://login.example/',
      authorization_endpoint: 'https://login.example/authorize',
      token_endpoint: 'https://login.example/token',
      response_types_supported: ['code'],
    },
  };
  const node = toNodeHandler({
    async fetch(request, options) {
      const document = oauthMetadataResponse(request, metadata);
      if (document) return document;
      const authInfo = await gate(request);
      return authInfo instanceof Response ? authInfo : handler.fetch(request, { ...options, authInfo });
    },
  });
  const http = createServer((request, response) => void node(request, response));
  http.listen(port, '127.0.0.1', () => {
    console.error(`listening on http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
  });
}

if (process.argv.includes('--stdio')) serveStdio(() => createNotes());
else serveHttp(Number(process.env['PORT'] ?? 8000));
// #endregion serve
