import { McpServer } from 'everwire/server';
import { z } from 'zod';

/** Makes a new server. Each test makes its own, so that no test sees the notes of another. */
export function createServer(): McpServer {
  const server = new McpServer({ name: 'my-server', version: '0.1.0' });
  const notes = new Map<string, string>();

  server.tool(
    'add_note',
    {
      description: 'Add a note, or replace the one with the same title',
      input: z.object({
        title: z.string().min(1).describe('A short title'),
        text: z.string().describe('The text of the note'),
      }),
    },
    ({ title, text }) => {
      notes.set(title, text);
      server.resourceUpdated('notes://all');
      return `Added ${title}.`;
    },
  );

  server.resource('notes://all', { name: 'notes', description: 'All notes', mimeType: 'text/plain' }, () =>
    Array.from(notes, ([title, text]) => `${title}: ${text}`).join('\n'),
  );

  server.prompt(
    'summarize_notes',
    { description: 'Summarize all notes', arguments: { style: { complete: ['short', 'detailed'] } } },
    ({ style = 'short' }) => `Read the resource notes://all and write a ${style} summary of it.`,
  );

  return server;
}

export const server = createServer();
