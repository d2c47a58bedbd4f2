import { connect, type Client } from 'everwire/client';
import { McpServer } from 'everwire/server';

/** A command: started once, and started again for the next call where it ended by itself. */
export function toCommand(script: string): Promise<Client> {
  return connect({ command: process.execPath, args: [script], onstderr: (line) => console.error(`server: ${line}`) });
}

/** An address, with an API key. */
export function toAddress(url: string, key: string): Promise<Client> {
  return connect(url, { headers: { 'x-api-key': key } });
}

/** A server in the same process. */
export function toServer(): Promise<Client> {
  const server = new McpServer({ name: 'clock', version: '1.0.0' });
  server.tool('time', { description: 'The time' }, () => new Date().toISOString());
  return connect(server);
}
