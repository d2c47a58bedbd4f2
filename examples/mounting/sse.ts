import { McpServer } from 'everwire/server';
import express from 'express';

const server = new McpServer({
  name: 'library',
  version: '1.0.0',
  http: {
    path: '/mcp',
    ssePath: '/sse',
    messagesPath: '/messages',
    // What app.use() removes from the path.
    publicPrefix: '/api',
  },
});
server.tool('opening_hours', { description: 'When the library is open' }, () => 'Monday to Saturday, 9 to 17');

const app = express();
app.use('/api', server.node);

const http = app.listen(Number(process.env['PORT'] ?? 8000), '127.0.0.1', () =>
  console.error('listening', http.address()),
);
