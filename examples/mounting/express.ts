import express from 'express';
import { server } from './server.ts';

const app = express();
app.use(express.json());
app.all('/mcp', server.node);

const http = app.listen(Number(process.env['PORT'] ?? 8000), '127.0.0.1', () =>
  console.error('listening', http.address()),
);

async function stop(): Promise<void> {
  await server.close(10_000);
  http.close();
}
process.once('SIGTERM', () => void stop());
