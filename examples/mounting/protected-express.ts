import express from 'express';
import { server } from './protected.ts';

const api = express.Router();
api.all('/mcp', server.node);

const app = express();
app.use('/api', api);
app.use('/.well-known/oauth-protected-resource', server.node);

const http = app.listen(Number(process.env['PORT'] ?? 8000), '127.0.0.1', () =>
  console.error('listening', http.address()),
);
