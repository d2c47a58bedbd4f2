import { McpServer } from 'everwire/server';

export const server = new McpServer({ name: 'library', version: '1.0.0' });

const books = new Map([
  ['momo', 'It was a very big city.'],
  ['jim-button', 'The country was called Lummerland.'],
]);
const notices = ['Closed on Sunday.'];

server.resource('library://rules', { name: 'rules', mimeType: 'text/markdown' }, () => '# Be quiet');

server.resource('library://notices', { name: 'notices', mimeType: 'text/plain' }, () => notices.join('\n'));

server.resourceTemplate(
  'library://books/{id}',
  {
    name: 'book',
    mimeType: 'text/plain',
    list: () => [...books.keys()].map((id) => ({ uri: `library://books/${id}`, name: id })),
    complete: { id: (typed) => [...books.keys()].filter((id) => id.includes(typed)) },
  },
  ({ id }) => books.get(id),
);

/** Adds a notice and notifies every client that subscribed to the resource. */
export function pinUp(notice: string): void {
  notices.push(notice);
  server.resourceUpdated('library://notices');
}
