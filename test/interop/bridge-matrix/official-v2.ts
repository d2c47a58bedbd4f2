import {
  inputRequired,
  Server,
  type LoggingLevel,
  type ServerContext,
  type ServerNotifier,
} from '@modelcontextprotocol/server';
import type { Visit, World } from './world.ts';

type JsonObject = Record<string, any>;

/** The methods during which a server may ask. */
const ASKING = ['tools/call', 'prompts/get', 'resources/read'] as const;

/**
 * A server of the official SDK 2.x that offers a world. It speaks only the world's revision.
 *
 * @param notifier notifies all subscribers. Without it, the server has a single connection.
 */
export function officialV2(world: World, notifier?: ServerNotifier): Server {
  const { revision, capabilities } = world;
  const options = { capabilities, instructions: 'Look around.', supportedProtocolVersions: [revision] };
  const server = new Server({ name: 'official 2.x', version: '1.0.0' }, options);
  const subscribed = new Set<string>();
  const answer = async (method: string, params: JsonObject, { mcpReq, http }: ServerContext): Promise<JsonObject> => {
    const { _meta: meta } = mcpReq;
    if (method === 'resources/subscribe') subscribed.add(params['uri']);
    if (method === 'resources/unsubscribe') subscribed.delete(params['uri']);
    const visit: Visit = {
      method,
      params: { ...params, _meta: meta },
      signal: mcpReq.signal,
      client: sender(server, mcpReq.envelope),
      answer: mcpReq.inputResponses?.['question'] as JsonObject | undefined,
      header: (name) => http?.req?.headers.get(name) ?? undefined,
      notify: (name, details) => mcpReq.notify({ method: name, params: details }),
      log: (level, data) => mcpReq.log(level as LoggingLevel, data),
      toolsChanged: async () => (notifier ? notifier.toolsChanged() : server.sendToolListChanged()),
      updated: async (uri) => {
        if (notifier) notifier.resourceUpdated(uri);
        else if (mcpReq.envelope || subscribed.has(uri)) await server.sendResourceUpdated({ uri });
      },
    };
    const reply = await world.answer(visit);
    return 'ask' in reply ? inputRequired({ inputRequests: { question: reply['ask'] as never } }) : reply;
  };
  for (const method of ASKING)
    server.setRequestHandler(method, (request, context) => answer(method, request.params, context) as never);
  server.fallbackRequestHandler = ({ method, params = {} }, context) => answer(method, params, context);
  return server;
}

/** A session's client, or that of one request. */
function sender(server: Server, envelope: JsonObject | undefined): Visit['client'] {
  if (!envelope) return { name: server.getClientVersion()?.name, capabilities: server.getClientCapabilities() };
  const said = (what: string): any => envelope[`io.modelcontextprotocol/${what}`];
  return { name: said('clientInfo')?.name, capabilities: said('clientCapabilities') };
}
