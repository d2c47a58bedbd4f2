import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import { McpServer } from 'everwire/server';
import * as v from 'valibot';
import { z } from 'zod';

export const server = new McpServer({ name: 'schemas', version: '1.0.0' });

server.tool('zod', { input: z.object({ days: z.int().max(60) }) }, ({ days }) => `${days} days`);

server.tool(
  'valibot',
  { input: toStandardJsonSchema(v.object({ days: v.pipe(v.number(), v.integer(), v.maxValue(60)) })) },
  ({ days }) => `${days} days`,
);

server.tool('arktype', { input: type({ days: 'number.integer <= 60' }) }, ({ days }) => `${days} days`);

server.tool(
  'plain',
  { input: { type: 'object', properties: { days: { type: 'integer', maximum: 60 } }, required: ['days'] } },
  ({ days }) => `${days} days`,
);
