import { McpServer } from 'everwire/server';

const server = new McpServer({ name: 'library', version: '1.0.0' });

server.tool('opening_hours', { description: 'When the library is open' }, () => 'Monday to Saturday, 9 to 17');

const { url } = await server.listen({ port: Number(process.env['PORT'] ?? 8000) });
console.error(`listening on ${url}`);
