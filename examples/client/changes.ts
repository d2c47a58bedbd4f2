import { connect, type Client, type Subscription, type Target } from 'everwire/client';

/** Shows the names of the tools, now and after every change of the list. */
export async function watchTools(target: Target, show: (names: string[]) => void): Promise<Client> {
  const client = await connect(target, {
    onchange: async (change) => {
      if (change.type === 'tools') await refresh();
    },
    onlog: ({ level, data }) => console.error(level, data),
    logLevel: 'warning',
  });
  const refresh = async (): Promise<void> => show((await client.listTools()).map(({ name }) => name));
  await refresh();
  return client;
}

/** Reads a resource each time it changes. */
export function follow(client: Client, uri: string, show: (text: string) => void): Promise<Subscription> {
  return client.subscribe(uri, async () => {
    const { contents } = await client.readResource(uri);
    if (contents[0] && 'text' in contents[0]) show(contents[0].text);
  });
}
