import { createServer } from './server.ts';

await createServer().stdio();
