import { onTestFinished, expect, test } from 'vitest';
import { askingServer } from '../../test/support/asking-server.ts';
import { Capture } from '../inspect/capture.ts';
import type { Revision } from '../protocol/revisions.ts';
import { Marks } from './marks.ts';
import type { GivenAnswers } from './questions.ts';
import type { CheckedServer } from './server.ts';
import { survey, type Survey } from './survey.ts';

async function surveyed(revision: Revision, answers?: GivenAnswers): Promise<Survey> {
  const { server, close } = await askingServer('mcp');
  onTestFinished(close);
  const marks = new Marks(new Capture());
  const { signal } = new AbortController();
  const calls = [{ tool: 'ask', args: {} }];
  return survey(revision, 'streamable-http', { server, marks, patience: 5000, signal, calls, answers });
}

const DECLINED = [
  { what: 'elicitation/create was declined', how: `--answers '{"elicit":…}'` },
  { what: 'sampling/createMessage was declined', how: `--answers '{"sample":…}'` },
  { what: 'roots/list was answered with no roots', how: '--root <directory>' },
];

test.each(['2025-06-18', '2025-11-25'] as const)('in %s, questions of the server are declined', async (revision) => {
  const { notTried } = await surveyed(revision);
  expect(notTried).toEqual(DECLINED);
});

test('in 2026-07-28, a call is not continued after a request to a model was declined', async () => {
  const { notTried } = await surveyed('2026-07-28');
  expect(notTried).toEqual([...DECLINED, { what: 'the tool ask failed: The user declined', how: undefined }]);
});

test.each(['2025-11-25', '2026-07-28'] as const)('in %s, given answers are sent', async (revision) => {
  const asked: string[] = [];
  const { notTried } = await surveyed(revision, {
    onelicit: ({ message }) => {
      asked.push(message);
      return { action: 'accept' };
    },
    onsample: () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'yes' } }),
    onroots: () => [{ uri: 'file:///a' }],
  });
  expect({ asked, notTried }).toEqual({ asked: ['Go on?'], notTried: [] });
});

/** A server over stdio whose lists have only resource templates. @param templates as JavaScript, because they may be long. */
function templatesOf(templates: string): CheckedServer {
  const resourceTemplates = `${templates}.map((uriTemplate) => ({ name: 'a', uriTemplate }))`;
  const script = `
    const info = { protocolVersion: '2025-11-25', capabilities: { resources: {}, completions: {} }, serverInfo: { name: 'a', version: '1' } };
    const results = {
      initialize: info, ping: {}, 'resources/list': { resources: [] },
      'resources/templates/list': { resourceTemplates: ${resourceTemplates} },
    };
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params } = JSON.parse(line);
      if (method === 'completion/complete') process.stderr.write(params.argument.name + '\\n');
      const result = results[method] ?? { completion: { values: [] } };
      if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });`;
  return { kind: 'command', target: { command: process.execPath, args: ['-e', script] } };
}

async function completed(server: CheckedServer): Promise<string[]> {
  const names: string[] = [];
  const onstderr = (line: string): void => void names.push(line);
  const marks = new Marks(new Capture());
  const { signal } = new AbortController();
  await survey('2025-11-25', 'connection', { server, marks, patience: 60_000, signal, onstderr });
  return names;
}

test('completions are requested for the variables of templates', async () => {
  expect(await completed(templatesOf(`['a://{b}/{+c}{?d*,e:3}']`))).toEqual(['b', 'c', 'd', 'e']);
});

test('a template of brackets is read in linear time', async () => {
  const brackets = `'{'.repeat(200_000)`;
  const stars = `'{a' + '*'.repeat(200_000) + '\\n}'`;
  const before = process.cpuUsage();
  expect(await completed(templatesOf(`[${brackets}, ${brackets} + '}', ${stars}]`))).toEqual(['a']);
  expect(process.cpuUsage(before).user).toBeLessThan(5_000_000);
});

test('what was not tried is short, although a server lists a tool with a name of millions of characters', async () => {
  const script = `
    const info = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'a', version: '1' } };
    const tools = [{ name: 'x'.repeat(5_000_000), inputSchema: { type: 'object' } }];
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line);
      const result = { initialize: info, 'tools/list': { tools } }[method] ?? {};
      if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });`;
  const server: CheckedServer = { kind: 'command', target: { command: process.execPath, args: ['-e', script] } };
  const { signal } = new AbortController();
  const marks = new Marks(new Capture());
  const { notTried } = await survey('2025-11-25', 'connection', { server, marks, patience: 60_000, signal });
  expect(notTried.map(({ what }) => what.slice(0, 24))).toEqual(['1 tool was not called: x']);
  expect(JSON.stringify(notTried).length).toBeLessThan(20_000);
});
