import { McpServer } from 'everwire/server';

export const server = new McpServer({ name: 'library', version: '1.0.0' });

server.tool('opening_hours', { description: 'When the library is open' }, () => 'Monday to Saturday, 9 to 17');
