import { describe, expect, onTestFinished, test } from 'vitest';
import { devFile } from '../support/dev-file.ts';
import { programs, startServer } from '../support/process.ts';
import { connect, type ClientKind, type TransportKind } from './clients.ts';

/** Official clients stay connected to `everwire dev` while the file changes. */

const KINDS: ClientKind[] = ['sdk 1.x', 'client 2.x legacy', 'client 2.x modern'];
const TRANSPORTS: TransportKind[] = ['http', 'stdio'];

/** A server whose tools name their version. `ask` waits for an answer of the client. */
const version = (name: string, more = ''): string => `
console.log('stdout is free in ${name}');
server.tool('say', {}, () => '${name}');
server.tool('ask', {}, async (_, context) => {
  const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
  const { content } = await context.elicit({ message: 'Who?', schema });
  return '${name} heard ' + content?.name;
});
${more}`;

describe.each(KINDS)('%s', (kind) => {
  test.each(TRANSPORTS)('goes on over %s while the file changes', async (transport) => {
    const file = devFile(version('one'));
    const command = [...programs.everwire, 'dev', '--port', '0', file.path];
    let url = '';
    if (transport === 'http') {
      const server = await startServer(command);
      onTestFinished(async () => void (await server.stop()));
      ({ url } = server);
    }
    const target = { stdio: [...command, '--stdio'], url, sseUrl: '' };
    const client = await connect(kind, transport, target);
    onTestFinished(() => client.close());
    const names = async (): Promise<string[]> => {
      const { tools } = await client.methods.listTools();
      return (tools as { name: string }[]).map(({ name }) => name);
    };
    await client.followLists();
    expect(await names()).toEqual(['say', 'ask']);
    expect(await client.callTool({ name: 'say' })).toMatchObject({ content: [{ text: 'one' }] });

    let answer!: () => void;
    const reloaded = new Promise<void>((resolve) => (answer = resolve));
    const asked = new Promise<void>((resolve) => {
      client.answers.elicitation = () => {
        resolve();
        return reloaded.then(() => ({ action: 'accept', content: { name: 'Ada' } }));
      };
    });
    const inFlight = client.callTool({ name: 'ask' });
    await asked;

    file.write(version('two', `server.tool('added', {}, () => 'new');`));
    await client.notice('notifications/tools/list_changed');
    expect(await names()).toEqual(['say', 'ask', 'added']);
    expect(await client.callTool({ name: 'say' })).toMatchObject({ content: [{ text: 'two' }] });
    answer();
    expect(await inFlight).toMatchObject({ content: [{ text: 'one heard Ada' }] });

    const seen = client.notices.length;
    file.write(version('three', `server.prompt('greet', {}, () => 'Hello');`));
    await client.notice('notifications/prompts/list_changed', undefined, seen);
    expect(await names()).toEqual(['say', 'ask']);
    expect(await client.methods.listPrompts()).toMatchObject({ prompts: [{ name: 'greet' }] });
    expect(client.notices.map(({ method }) => method)).not.toContain('notifications/resources/list_changed');
    expect(client.errors).toEqual([]);
  });
});
