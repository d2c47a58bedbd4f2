import { connect, type Client } from 'everwire/client';
import { McpServer } from 'everwire/server';

/** Starts a command once. If the command exits, the next call starts it again. */
export function toCommand(script: string): Promise<Client> {
  return connect({ command: process.execPath, args: [script], onstderr: (line) => console.error(`server: ${line}`) });
}

/** Connects to a URL with an API key. */
export function toAddress(url: string, key: string): Promise<Client> {
  return connect(url, { headers: { 'x-api-key': key } });
}

/** Connects to a server in the same process. */
export function toServer(): Promise<Client> {
  const server = new McpServer({ name: 'clock', version: '1.0.0' });
  server.tool('time', { description: 'The time' }, () => new Date().toISOString());
  return connect(server);
}
