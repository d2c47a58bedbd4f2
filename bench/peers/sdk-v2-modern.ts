import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { ready } from './host.ts';
import { createServer } from './sdk-v2-server.ts';

const handler = toNodeHandler(createMcpHandler(createServer));
const server = createHttpServer((request, response) => void handler(request, response));
server.listen(0, '127.0.0.1', () => ready(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`));
