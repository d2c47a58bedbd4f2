import { McpServer } from 'everwire/server';

export const server = new McpServer({ name: 'library', version: '1.0.0' });

const authors: Record<string, string[]> = { fantasy: ['Ende', 'Tolkien'], crime: ['Christie', 'Sayers'] };

server.prompt(
  'recommend',
  {
    description: 'Ask for something to read',
    arguments: {
      genre: { required: true, complete: Object.keys(authors) },
      author: {
        complete: (typed, { arguments: resolved }) =>
          (authors[resolved['genre'] ?? ''] ?? Object.values(authors).flat()).filter((name) => name.startsWith(typed)),
      },
    },
  },
  ({ genre, author }) =>
    author === undefined
      ? `Recommend me a ${genre} novel.`
      : [
          { role: 'user', content: { type: 'text', text: `I liked the ${genre} novels of ${author}.` } },
          { role: 'user', content: { type: 'text', text: 'What should I read next?' } },
        ],
);
