import { expect, test, vi } from 'vitest';
import { visit as everwire } from '../../../examples/moving/client/everwire.ts';
import { visit as official1 } from '../../../examples/moving/client/official-sdk-1.ts';
import { visit as official2 } from '../../../examples/moving/client/official-sdk-2.ts';
import { startNotes, type NotesServer } from './notes.ts';

/** What a client reports about a new server. */
async function reportsOf(visit: typeof everwire, name: NotesServer): Promise<string[]> {
  const lines: string[] = [];
  const finished = () =>
    vi.waitFor(() => expect(lines).toEqual(expect.arrayContaining(['tools changed', 'changed: notes://all'])));
  await visit(await startNotes(name), 'token-of-ada', (line) => lines.push(line), finished);
  return lines.toSorted();
}

const withoutLogs = (lines: readonly string[]): string[] => lines.filter((line) => !line.startsWith('log: '));

test.each(['official-sdk-1', 'everwire'] as const)(
  'the client of the SDK 1.x and ours do the same with %s',
  async (server) => {
    const theirs = await reportsOf(official1, server);
    expect(await reportsOf(everwire, server)).toEqual(theirs);
    expect(theirs).toEqual(expect.arrayContaining(['connected to notes', 'log: info', '1 of 1', 'refused']));
  },
);

test.each(['official-sdk-2', 'everwire'] as const)(
  'the client of the SDK 2.x and ours do the same with %s',
  async (server) => {
    const theirs = await reportsOf(official2, server);
    // In 2026-07-28, the client of the SDK does not ask for log messages by itself.
    expect(withoutLogs(await reportsOf(everwire, server))).toEqual(theirs);
    expect(theirs).toEqual(expect.arrayContaining(['connected to notes', '1 of 1', 'refused']));
  },
);
