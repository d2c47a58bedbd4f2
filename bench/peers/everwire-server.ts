import { McpServer } from 'everwire/server';
import { z } from 'zod';

export const server = new McpServer({ name: 'everwire', version: '1.0.0' });
server.tool('add', { input: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => String(a + b));
