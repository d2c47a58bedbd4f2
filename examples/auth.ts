import { bearerAuth } from 'everwire/auth';
import { McpServer } from 'everwire/server';

// The public URL of the server, and the authorization server that issues tokens for it.
const { RESOURCE = 'http://localhost:8000/mcp', ISSUER = 'http://localhost:9000' } = process.env;

const auth = bearerAuth({ resource: RESOURCE, issuer: ISSUER, scopes: ['notes:read'] });
export const server = new McpServer({ name: 'notes', version: '1.0.0', http: { auth } });

const notes = new Map<string, string>();

server.tool('read', {}, (_, { caller }) => notes.get(caller.principal!) ?? 'Nothing yet.');

server.tool(
  'write',
  { scopes: ['notes:write'], input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } },
  ({ text }, { caller }) => {
    notes.set(caller.principal!, text);
    return 'Written.';
  },
);
