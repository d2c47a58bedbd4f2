import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { createServer } from './sdk-v1-server.ts';

await createServer().connect(new StdioServerTransport());
