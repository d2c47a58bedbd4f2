import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { InitializeRequestSchema, ResultSchema, type LoggingLevel } from '@modelcontextprotocol/sdk/types.js';
import type { Visit, World } from './world.ts';

/** A server of the official SDK 1.x that offers a world. It speaks the world's revision, whatever is requested. */
export function officialV1(world: World): Server {
  const options = { capabilities: world.capabilities, instructions: 'Look around.' };
  const server = new Server({ name: 'official 1.x', version: '1.0.0' }, options);
  const initialize = server['_oninitialize'].bind(server);
  server.setRequestHandler(InitializeRequestSchema, async (request) => ({
    ...(await initialize(request)),
    protocolVersion: world.revision,
  }));
  const subscribed = new Set<string>();
  server.fallbackRequestHandler = async ({ method, params = {} }, extra) => {
    if (method === 'resources/subscribe') subscribed.add(String(params['uri']));
    if (method === 'resources/unsubscribe') subscribed.delete(String(params['uri']));
    let answer: Record<string, any> | undefined;
    const visit: Omit<Visit, 'answer'> = {
      method,
      params,
      signal: extra.signal,
      client: { name: server.getClientVersion()?.name, capabilities: server.getClientCapabilities() },
      header: () => undefined,
      notify: (name, details) => extra.sendNotification({ method: name, params: details }),
      // The official SDK sends it without a call. Over HTTP, it comes on the stream of the session.
      log: (level, data) => server.sendLoggingMessage({ level: level as LoggingLevel, data }, extra.sessionId),
      toolsChanged: () => server.sendToolListChanged(),
      updated: async (uri) => {
        if (subscribed.has(uri)) await server.sendResourceUpdated({ uri });
      },
    };
    for (;;) {
      const reply = await world.answer({ ...visit, answer });
      if (!('ask' in reply)) return reply;
      const { ask } = reply;
      // Like `elicitInput`, this names no call. Over HTTP, the question comes on the stream of the session.
      const beside = ask.method === 'elicitation/create';
      answer = await (beside
        ? server.request(ask, ResultSchema.loose())
        : extra.sendRequest(ask, ResultSchema.loose()));
    }
  };
  return server;
}
