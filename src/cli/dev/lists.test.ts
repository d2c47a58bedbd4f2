import { describe, expect, test } from 'vitest';
import { McpServer } from '../../server/index.ts';
import { memoryTransportPair } from '../../transport/memory.ts';
import type { Transport } from '../../transport/transport.ts';
import { compareLists, counted, readLists, type Lists } from './lists.ts';

/** Reads the lists of a server that is made for this. */
async function listsOf(add: (server: McpServer) => void): Promise<Lists> {
  const server = new McpServer({ name: 'mine', version: '2.0.0' });
  add(server);
  const open = (): Transport => {
    const [near, far] = memoryTransportPair();
    void server.connect(far);
    return near;
  };
  return readLists(open, new AbortController().signal);
}

describe('the lists of a server', () => {
  test('are counted, without those that are empty', async () => {
    const lists = await listsOf((server) => {
      server.tool('one', {}, () => '');
      server.tool('two', {}, () => '');
      server.resourceTemplate('memo://{id}', { name: 'memo' }, () => '');
    });
    expect(lists).toMatchObject({ name: 'mine', version: '2.0.0' });
    expect(counted(lists)).toBe('2 tools, 1 resource template');
    expect(counted(await listsOf(() => {}))).toBe('nothing');
  });

  test('are compared by what they say, and each difference names its notification', async () => {
    const before = await listsOf((server) => {
      server.tool('kept', { description: 'same' }, () => '');
      server.tool('edited', { description: 'old' }, () => '');
      server.prompt('gone', {}, () => '');
    });
    const after = await listsOf((server) => {
      server.tool('edited', { description: 'new' }, () => 'another result');
      server.tool('kept', { description: 'same' }, () => '');
      server.resource('memo://all', { name: 'all' }, () => '');
    });
    expect(compareLists(before, after)).toEqual({
      changed: { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true },
      lines: ['changed tool edited', 'removed prompt gone', 'added resource memo://all'],
    });
    expect(compareLists(after, after)).toEqual({ changed: {}, lines: [] });
  });
});
