import { McpServer } from 'everwire/server';
import { embeddedState } from 'everwire/store';

export async function serve(directory: string, port: number) {
  const server = new McpServer({ name: 'library', version: '1.0.0' });
  server.tool('find', { description: 'Where a book is' }, () => 'on the shelf');

  const state = await embeddedState(directory);
  const { url } = await server.listen({ port, state });

  const stop = async (): Promise<void> => {
    await server.close();
    await state.close();
  };
  return { url, stop };
}
