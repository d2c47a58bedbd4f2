import { createServer } from 'node:http';
import { server } from './server.ts';

const http = createServer((request, response) => {
  if (request.url === '/mcp') server.node(request, response);
  else response.writeHead(404).end();
});

http.listen(Number(process.env['PORT'] ?? 8000), '127.0.0.1', () => console.error('listening', http.address()));

async function stop(): Promise<void> {
  await server.close(10_000);
  http.close();
}
process.once('SIGTERM', () => void stop());
