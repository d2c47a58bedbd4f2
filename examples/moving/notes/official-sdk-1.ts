// #region imports
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { mcpAuthMetadataRouter } from '@modelcontextprotocol/sdk/server/auth/router.js';
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  isInitializeRequest,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import express from 'express';
import { z } from 'zod';
import { Store } from './store.ts';
// #endregion imports

const store = new Store();

/** Every session needs a server of its own. */
function createNotes(): McpServer {
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
      inputSchema: { title: z.string().min(1), text: z.string(), tags: z.array(z.string()).default([]) },
      outputSchema: { id: z.string(), count: z.number() },
    },
    async ({ title, text, tags }) => {
      const { id } = store.add(title, text, tags);
      const structuredContent = { id, count: store.all().length };
      server.sendResourceListChanged();
      if (subscribed.has('notes://all')) await server.server.sendResourceUpdated({ uri: 'notes://all' });
      return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
    },
  );
  // #endregion tool

  // #region deprecated
  server.tool('find_notes', 'Finds notes', { words: z.string() }, { readOnlyHint: true }, async ({ words }) => ({
    content: store.find(words).map(({ id, title }) => ({
      type: 'resource_link' as const,
      uri: `notes://note/${id}`,
      name: title,
    })),
  }));

  server.tool('count_notes', async () => ({ content: [{ type: 'text', text: String(store.all().length) }] }));
  // #endregion deprecated

  // #region elicitation
  server.registerTool(
    'delete_note',
    { description: 'Deletes a note', inputSchema: { id: z.string() } },
    async ({ id }, extra) => {
      const note = store.get(id);
      if (!note) throw new Error(`There is no note ${id}`);
      const answer = await server.server.elicitInput(
        {
          message: `Delete "${note.title}"?`,
          requestedSchema: { type: 'object', properties: { sure: { type: 'boolean' } }, required: ['sure'] },
        },
        { relatedRequestId: extra.requestId },
      );
      if (answer.action !== 'accept' || !answer.content?.['sure']) return { content: [{ type: 'text', text: 'Kept' }] };
      store.delete(id);
      return { content: [{ type: 'text', text: 'Deleted' }] };
    },
  );
  // #endregion elicitation

  // #region sampling
  server.registerTool('summarize', { description: 'Summarizes all notes' }, async (extra) => {
    const { roots } = await server.server.listRoots(undefined, { relatedRequestId: extra.requestId });
    const { content } = await server.server.createMessage(
      {
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
      },
      { relatedRequestId: extra.requestId },
    );
    const text = content.type === 'text' ? content.text : '';
    return { content: [{ type: 'text', text: `${text} (${roots.map(({ name }) => name).join()})` }] };
  });
  // #endregion sampling

  // #region progress
  server.registerTool(
    'reindex',
    { description: 'Reads all notes again', inputSchema: { pause: z.number().default(20) } },
    async ({ pause }, extra) => {
      const notes = store.all();
      for (const [done, { title }] of notes.entries()) {
        const progressToken = extra._meta?.progressToken;
        if (progressToken !== undefined) {
          await extra.sendNotification({
            method: 'notifications/progress',
            params: { progressToken, progress: done + 1, total: notes.length, message: title },
          });
        }
        await delay(pause, undefined, { signal: extra.signal });
      }
      const data = { notes: notes.length };
      await server.sendLoggingMessage({ level: 'info', logger: 'index', data }, extra.sessionId);
      return { content: [{ type: 'text', text: 'Done' }] };
    },
  );
  // #endregion progress

  // #region changes
  const secret = server.registerTool('secret', { description: 'Not for everyone' }, async ({ authInfo }) => ({
    content: [{ type: 'text', text: `${authInfo?.clientId ?? 'nobody'} may ${authInfo?.scopes.join() ?? 'nothing'}` }],
  }));
  secret.disable();

  server.registerTool('unlock', { description: 'Shows the secret tool' }, async () => {
    secret.enable();
    return { content: [{ type: 'text', text: 'Unlocked' }] };
  });
  // #endregion changes

  // #region resources
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
  // #endregion resources

  // #region prompts
  const matching = (typed: string): string[] => store.tags().filter((tag) => tag.startsWith(typed));
  server.registerPrompt(
    'review',
    {
      description: 'Review the notes with a tag',
      argsSchema: { tag: completable(z.string().describe('The tag'), matching), style: z.string().optional() },
    },
    ({ tag, style }) => {
      const text = `Review my notes about ${tag}${style ? `, ${style}` : ''}.`;
      return { messages: [{ role: 'user', content: { type: 'text', text } }] };
    },
  );
  // #endregion prompts

  // #region low-level
  const subscribed = new Set<string>();
  server.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    subscribed.add(params.uri);
    return {};
  });
  server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    subscribed.delete(params.uri);
    return {};
  });

  const TagsRequest = z.object({ method: z.literal('notes/tags') });
  server.server.setRequestHandler(TagsRequest, () => ({ tags: store.tags() }));
  // #endregion low-level

  return server;
}

// #region serve
async function serveStdio(): Promise<void> {
  await createNotes().connect(new StdioServerTransport());
}

function serveHttp(port: number): void {
  const app = express();
  app.use(express.json());

  const verifyAccessToken = async (token: string) => {
    const user = await store.userOf(token);
    if (!user) throw new InvalidTokenError('The token is not valid');
    return { token, clientId: user.name, scopes: user.scopes, expiresAt: user.expiresAt };
  };
  const resourceMetadataUrl = 'https://notes.example/.well-known/oauth-protected-resource/mcp';
  app.use(
    '/mcp',
    requireBearerAuth({ verifier: { verifyAccessToken }, requiredScopes: ['notes'], resourceMetadataUrl }),
  );
  app.use(
    mcpAuthMetadataRouter({
      resourceServerUrl: new URL('https://notes.example/mcp'),
      oauthMetadata: {
        issuer: 'https://login.example/',
        authorization_endpoint: 'https://login.example/authorize',
        token_endpoint: 'https://login.example/token',
        response_types_supported: ['code'],
      },
    }),
  );

  const sessions = new Map<string, StreamableHTTPServerTransport>();
  app.all('/mcp', async (request, response) => {
    let transport = sessions.get(String(request.headers['mcp-session-id']));
    if (!transport) {
      if (!isInitializeRequest(request.body)) {
        response.status(404).json({ jsonrpc: '2.0', error: { code: -32000, message: 'No session' }, id: null });
        return;
      }
      const opened = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (id) => void sessions.set(id, opened),
      });
      opened.onclose = () => void sessions.delete(opened.sessionId ?? '');
      transport = opened;
      await createNotes().connect(transport);
    }
    await transport.handleRequest(request, response, request.body);
  });

  const listener = app.listen(port, '127.0.0.1', () => {
    console.error(`listening on http://127.0.0.1:${(listener.address() as AddressInfo).port}/mcp`);
  });
}

if (process.argv.includes('--stdio')) await serveStdio();
else serveHttp(Number(process.env['PORT'] ?? 8000));
// #endregion serve
