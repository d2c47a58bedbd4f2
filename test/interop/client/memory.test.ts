import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { connect, type Client } from '../../../src/client/index.ts';
import { textOf } from '../../support/reader.ts';

const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-memory/dist/index.js'));

const Graph = z.object({
  entities: z.array(z.object({ name: z.string(), entityType: z.string(), observations: z.array(z.string()) })),
  relations: z.array(z.object({ from: z.string(), to: z.string(), relationType: z.string() })),
});

test('server-memory keeps a graph over restarts, with valid structured content', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'everwire-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const errors: Error[] = [];
  const start = async (): Promise<Client> => {
    const client = await connect(
      {
        command: process.execPath,
        args: [program],
        env: { MEMORY_FILE_PATH: path.join(folder, 'memory.jsonl') },
        stderr: 'ignore',
      },
      { onerror: (error) => void errors.push(error) },
    );
    onTestFinished(() => client.close());
    return client;
  };

  const writer = await start();
  await writer.listTools();
  const ada = { name: 'Ada', entityType: 'person', observations: ['writes'] };
  const engine = { name: 'Engine', entityType: 'machine', observations: [] };
  const relations = [{ from: 'Ada', to: 'Engine', relationType: 'programs' }];
  await writer.callTool('create_entities', { entities: [ada, engine] });
  await writer.callTool('create_relations', { relations });
  const contents = ['counts'];
  await writer.callTool('add_observations', { observations: [{ entityName: 'Ada', contents }] });
  const failed = await writer.callTool('add_observations', { observations: [{ entityName: 'Nobody', contents }] });
  expect(failed.isError).toBe(true);
  expect(textOf(failed)).toContain('Nobody');
  await writer.close();

  const reader = await start();
  const { structuredContent: graph } = await reader.callTool('read_graph', {}, { output: Graph });
  expect(graph).toEqual({ entities: [{ ...ada, observations: ['writes', 'counts'] }, engine], relations });
  await reader.callTool('delete_entities', { entityNames: ['Engine'] });
  const { structuredContent: left } = await reader.callTool('open_nodes', { names: ['Ada'] }, { output: Graph });
  expect(left).toEqual({ entities: [{ ...ada, observations: ['writes', 'counts'] }], relations: [] });
  await expect(
    reader.callTool('read_graph', {}, { output: z.object({ nodes: z.array(z.any()) }) }),
  ).rejects.toMatchObject({
    name: 'InvalidResultError',
  });
  expect(errors).toEqual([]);
});
