import { memoryTransportPair } from 'everwire/memory';
import { serve } from 'everwire';
import { connect } from 'everwire/client';
import { server } from './server.js';

export async function run(): Promise<string[]> {
  const [near, far] = memoryTransportPair();
  await serve(server.service, far);
  const client = await connect(near);
  const tools = await client.listTools();
  return tools.map(({ name }) => name);
}
