import { bearerAuth } from 'everwire/auth';
import { McpServer } from 'everwire/server';

// The URL that clients use, with the prefix.
const { RESOURCE = 'http://localhost:8000/api/mcp', ISSUER = 'http://localhost:9000' } = process.env;

const auth = bearerAuth({ resource: RESOURCE, issuer: ISSUER, scopes: ['library:read'] });
const allowedHosts = [new URL(RESOURCE).hostname];

export const server = new McpServer({ name: 'library', version: '1.0.0', http: { auth, allowedHosts } });

server.tool('card', { description: 'Whose card this is' }, (_, { caller }) => `The card of ${caller.principal}`);
