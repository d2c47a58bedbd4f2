import type { Client } from 'everwire/client';

/** Waits, however long it takes: the client asks for the task's status as often as the server wishes. */
export async function print(client: Client, title: string): Promise<boolean> {
  const { isError } = await client.callTool(
    'print',
    { title },
    { maxTimeout: 0, onstatus: ({ status, statusMessage }) => console.log(status, statusMessage ?? '') },
  );
  return isError !== true;
}

/** Does not wait: the id is all that is needed to come back, from another process too. */
export async function startPrinting(client: Client, title: string): Promise<string | undefined> {
  const { task } = await client.callTool('print', { title }, { detach: true });
  return task?.id;
}

export async function pickUp(client: Client, id: string, signal: AbortSignal): Promise<unknown> {
  const { content } = await client.task(id).result({ signal });
  return content[0];
}
