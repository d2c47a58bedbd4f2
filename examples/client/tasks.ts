import type { Client } from 'everwire/client';

/** Waits without a time limit. The client polls at the interval that the server asks for. */
export async function print(client: Client, title: string): Promise<boolean> {
  const { isError } = await client.callTool(
    'print',
    { title },
    { maxTimeout: 0, onstatus: ({ status, statusMessage }) => console.log(status, statusMessage ?? '') },
  );
  return isError !== true;
}

/** Returns at once. With the id, any process can get the result later. */
export async function startPrinting(client: Client, title: string): Promise<string | undefined> {
  const { task } = await client.callTool('print', { title }, { detach: true });
  return task?.id;
}

export async function pickUp(client: Client, id: string, signal: AbortSignal): Promise<unknown> {
  const { content } = await client.task(id).result({ signal });
  return content[0];
}
