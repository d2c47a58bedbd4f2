import { createFleet } from 'everwire/bridge';
import { McpServer } from 'everwire/server';

const notes = new McpServer({ name: 'notes', version: '1.0.0' });
notes.tool('search', {}, () => 'two notes');
notes.tool('write', {}, () => 'written');

const mail = new McpServer({ name: 'mail', version: '1.0.0' });
mail.tool('search', {}, () => 'three letters');
mail.tool('send', {}, () => 'sent');

// A member is anything with a service: a server in this process, a bridge, a connected client.
export const fleet = createFleet({
  members: [
    { name: 'notes', service: notes.service },
    { name: 'mail', service: mail.service, tools: { hide: ['send'] } },
  ],
  onwarning: (warning) => console.error(warning),
});
