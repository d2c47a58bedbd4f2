import { createServer } from 'node:http';
import { server } from './tools.ts';

export const http = createServer((request, response) => {
  if (request.url === '/mcp') server.node(request, response);
  else response.writeHead(404).end();
});
