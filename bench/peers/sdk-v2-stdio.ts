import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { createServer } from './sdk-v2-server.ts';

await createServer().connect(new StdioServerTransport());
