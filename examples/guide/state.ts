import { McpServer, UserError } from 'everwire/server';

export const server = new McpServer({ name: 'library', version: '1.0.0' });

/** For each user: kept as long as the process. Use a database if it has to be kept longer. */
const borrowed = new Map<string, Set<string>>();
/** For each session: forgotten with the session. */
const seen = new WeakMap<object, number>();

server.tool('borrow_momo', { description: 'Borrow Momo' }, (_, { caller }) => {
  const { principal } = caller;
  if (principal === undefined) throw new UserError('Log in first.');
  const books = borrowed.get(principal) ?? new Set();
  borrowed.set(principal, books.add('Momo'));
  return `You have ${books.size} books.`;
});

server.tool('visits', { description: 'How often you came' }, (_, { caller: { session } }) => {
  if (!session) return 'This client has no session.';
  const visits = (seen.get(session) ?? 0) + 1;
  seen.set(session, visits);
  return `You came ${visits} times in this session.`;
});
