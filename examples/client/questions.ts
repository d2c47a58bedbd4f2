import { connect, RpcError, type Client, type Target } from 'everwire/client';

/** Asks the user. Implement it for your user interface. */
export interface Prompter {
  confirm(question: string): Promise<boolean>;
  fillIn(message: string, fields: readonly string[]): Promise<Record<string, string> | undefined>;
}

export function connectFor(prompter: Prompter, target: Target): Promise<Client> {
  return connect(target, {
    onelicit: {
      form: async ({ message, requestedSchema }) => {
        const content = await prompter.fillIn(message, Object.keys(requestedSchema['properties'] ?? {}));
        return content ? { action: 'accept', content } : { action: 'decline' };
      },
      url: async ({ message, url }) => {
        const agreed = await prompter.confirm(`${message}\nOpen ${url}?`);
        return { action: agreed ? 'accept' : 'decline' };
      },
    },
    onsample: async ({ messages }) => {
      if (!(await prompter.confirm('May the server use the model?')))
        throw new RpcError(-1, 'User rejected the request');
      const text = `${messages.length} messages`;
      return { role: 'assistant', model: 'a-model', stopReason: 'endTurn', content: { type: 'text', text } };
    },
    onroots: () => [{ uri: 'file:///home/ada/project', name: 'project' }],
  });
}
