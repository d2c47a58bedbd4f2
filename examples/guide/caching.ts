import { McpServer } from 'everwire/server';

export const server = new McpServer({
  name: 'library',
  version: '1.0.0',
  cache: {
    discover: { ttlMs: 3_600_000, cacheScope: 'public' },
    tools: { ttlMs: 60_000, cacheScope: 'public' },
    resources: { ttlMs: 60_000, cacheScope: 'public' },
  },
});

server.tool('opening_hours', { description: 'When the library is open' }, () => 'Monday to Saturday, 9 to 17');

server.resource('library://rules', { name: 'rules', ttlMs: 86_400_000, cacheScope: 'public' }, () => 'Be quiet.');
server.resource('library://loans', { name: 'loans', ttlMs: 5_000 }, (_, ctx) => `Loans of ${ctx.auth?.principal}`);
