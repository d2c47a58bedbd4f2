import { describe, expect, test } from 'vitest';
import { deferred, scripted, settled } from '../../../test/support/service.ts';
import { TestExchange } from '../../../test/support/exchange.ts';
import type { Service } from '../../core/exchange.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { createFleet, type Fleet } from './fleet.ts';

/** A server with these resources; what it does not have it does not find. */
function resourceServer(
  name: string,
  uris: readonly string[],
  { templates = [], hidden = [] }: { templates?: string[]; hidden?: string[] } = {},
): { service: Service; seen: { method: string; params: JsonObject }[] } {
  return scripted(
    {
      'resources/list': () => ({ resources: uris.map((uri) => ({ uri, name: uri })) }),
      'resources/templates/list': () => ({
        resourceTemplates: templates.map((uriTemplate) => ({ uriTemplate, name: 't' })),
      }),
      'resources/read': ({ params: { uri } }) => {
        if (![...uris, ...hidden].includes(uri)) throw new RpcError(-32002, `Resource not found: ${uri}`);
        return { contents: [{ uri, text: name }], ttlMs: 9 };
      },
      'completion/complete': ({ params }) => ({ completion: { values: [name, params['ref'].uri] } }),
      'tools/list': () => ({ tools: [{ name: `${name}_links` }] }),
      'tools/call': ({ params }) => ({
        content: [
          { type: 'resource_link', uri: params['arguments'].uri, name: 'x' },
          { type: 'resource', resource: { uri: params['arguments'].uri, text: 'x' } },
          { type: 'text', text: params['arguments'].uri },
        ],
        structuredContent: { uri: params['arguments'].uri },
      }),
      'prompts/list': () => ({ prompts: [{ name: `${name}_prompt` }] }),
      'prompts/get': () => ({
        messages: [{ role: 'user', content: { type: 'resource', resource: { uri: 'file:///both', text: 'x' } } }],
      }),
    },
    { tools: {}, prompts: {}, resources: {}, completions: {} },
  );
}

const refuse = (): never => {
  throw RpcError.fromObject({ code: -32603, message: 'not today' });
};

function ask(fleet: Fleet, method: string, params: JsonObject = {}): Promise<JsonObject> {
  return fleet.service(new TestExchange(method, params));
}

function fleetOf(servers: Record<string, { service: Service }>): Fleet {
  return createFleet({ members: Object.entries(servers).map(([name, { service }]) => ({ name, service })) });
}

describe('the resources of several servers', () => {
  const notes = resourceServer('notes', ['note:1', 'file:///both'], { templates: ['note:{id}', 'file:///{x}'] });
  const files = resourceServer('files', ['file:///both', 'file:///f'], { hidden: ['file:///hidden'] });
  const fleet = fleetOf({ notes, files, none: scripted({}, { tools: {} }) });

  test('are listed and read by URIs that lead back', async () => {
    const { resources } = await ask(fleet, 'resources/list');
    const uris = resources.map(({ uri }: { uri: string }) => uri);
    expect(uris).toEqual(['note:1', 'everwire+notes:file:///both', 'everwire+files:file:///both', 'file:///f']);
    const read = await Promise.all(uris.map((uri: string) => ask(fleet, 'resources/read', { uri })));
    expect(read.map(({ contents }) => [contents[0].text, contents[0].uri])).toEqual([
      ['notes', uris[0]],
      ['notes', uris[1]],
      ['files', uris[2]],
      ['files', uris[3]],
    ]);
    expect(read[0]).toHaveProperty('ttlMs', 9);
  });

  test('are listed by templates that lead back', async () => {
    const { resourceTemplates } = await ask(fleet, 'resources/templates/list');
    expect(resourceTemplates).toEqual([
      { uriTemplate: 'note:{id}', name: 't' },
      { uriTemplate: 'everwire+notes:file:///{x}', name: 't' },
    ]);
    for (const [uri, own] of [
      ['note:{id}', 'note:{id}'],
      ['everwire+notes:file:///{x}', 'file:///{x}'],
    ]) {
      const result = await ask(fleet, 'completion/complete', { ref: { type: 'ref/resource', uri }, argument: {} });
      expect(result['completion'].values).toEqual(['notes', own]);
    }
  });

  test('that nobody lists are looked for at one server after the other', async () => {
    // The template of the one would fit; the other has it.
    const { contents } = await ask(fleet, 'resources/read', { uri: 'everwire+files:file:///hidden' });
    expect(contents[0]).toMatchObject({ text: 'files', uri: 'everwire+files:file:///hidden' });
    const two = fleetOf({ a: resourceServer('a', ['x:1']), b: resourceServer('b', ['x:2'], { hidden: ['x:3'] }) });
    expect((await ask(two, 'resources/read', { uri: 'x:3' }))['contents']).toEqual([
      { uri: 'everwire+b:x:3', text: 'b' },
    ]);
    await expect(ask(two, 'resources/read', { uri: 'x:4' })).rejects.toMatchObject({ code: -32002 });
    await expect(ask(two, 'resources/read', {})).rejects.toMatchObject({ code: -32602 });
  });

  test('lead back from the results of tools and of prompts, and what is text or structured is left alone', async () => {
    const link = async (tool: string, uri: string): Promise<unknown[]> => {
      const { content, structuredContent } = await ask(fleet, 'tools/call', { name: tool, arguments: { uri } });
      expect(structuredContent).toEqual({ uri });
      return content.map((block: JsonObject) => block['uri'] ?? block['resource']?.uri ?? block['text']);
    };
    const both = 'everwire+files:file:///both';
    expect(await link('files_links', 'file:///both')).toEqual([both, both, 'file:///both']);
    expect(await link('files_links', 'file:///f')).toEqual(['file:///f', 'file:///f', 'file:///f']);
    expect(await link('notes_links', 'note:9')).toEqual(['note:9', 'note:9', 'note:9']);
    const { messages } = await ask(fleet, 'prompts/get', { name: 'files_prompt' });
    expect(messages[0].content.resource.uri).toBe(both);
  });

  test('are linked without waiting for the lists of others: by URIs that name their server, until those are there', async () => {
    const { promise, resolve } = deferred();
    const slow = scripted(
      {
        'resources/list': async () => {
          await promise;
          return { resources: [] };
        },
      },
      { resources: {} },
    );
    const linking = resourceServer('files', ['file:///f']);
    const three = fleetOf({
      files: linking,
      slow,
      refusing: scripted({ 'resources/list': refuse }, { resources: {} }),
    });
    const link = async (): Promise<unknown> => {
      const exchange = new TestExchange('tools/call', { name: 'files_links', arguments: { uri: 'file:///f' } });
      return (await three.service(exchange))['content'][0].uri;
    };
    expect(await link()).toBe('everwire+files:file:///f');
    expect(await link()).toBe('everwire+files:file:///f');
    const { contents } = await ask(three, 'resources/read', { uri: 'everwire+files:file:///f' });
    expect(contents[0]).toEqual({ uri: 'everwire+files:file:///f', text: 'files' });
    resolve();
    await settled();
    expect(await link()).toBe('file:///f');
    expect(slow.seen.filter(({ method }) => method === 'resources/list')).toHaveLength(1);
  });

  test('of one server alone are left alone, and no list is read for them', async () => {
    const only = resourceServer('only', ['a:1'], { hidden: ['b:1'] });
    const other = scripted({}, { tools: {} });
    const one = fleetOf({ only, other });
    await ask(one, 'server/discover');
    expect((await ask(one, 'resources/read', { uri: 'b:1' }))['contents'][0].uri).toBe('b:1');
    expect(only.seen.map(({ method }) => method)).toEqual(['server/discover', 'resources/read']);
  });

  test('a round of questions goes on at the server that asked', async () => {
    const rounds: JsonObject[] = [];
    const asking = scripted(
      {
        'resources/read': ({ params }) => {
          rounds.push(params);
          return params['requestState'] === undefined
            ? { resultType: 'input_required', requestState: 's' }
            : { contents: [{ uri: params['uri'], text: 'asking' }] };
        },
      },
      { resources: {} },
    );
    const two = fleetOf({ a: resourceServer('a', []), asking });
    const { requestState } = await ask(two, 'resources/read', { uri: 'x:1' });
    const { contents } = await ask(two, 'resources/read', { uri: 'x:1', requestState, inputResponses: {} });
    expect(contents[0].text).toBe('asking');
    expect(rounds).toEqual([{ uri: 'x:1' }, { uri: 'x:1', requestState: 's', inputResponses: {} }]);
  });
});
