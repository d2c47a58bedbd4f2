import { describe, expect, test } from 'vitest';
import { scripted } from '../../../test/support/service.ts';
import { TestExchange } from '../../../test/support/exchange.ts';
import { NoConnection } from '../../client/errors.ts';
import type { Exchange, Service } from '../../core/exchange.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { createFleet, type Fleet } from './fleet.ts';

/** A server with the given resources, and "not found" for others. */
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
      'tools/list': () => ({ tools: [{ name: `${name}_links`, inputSchema: { type: 'object' } }] }),
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

function ask(fleet: Fleet, method: string, params: JsonObject = {}): Promise<JsonObject> {
  return fleet.service(new TestExchange(method, params));
}

function fleetOf(servers: Record<string, { service: Service }>): Fleet {
  return createFleet({ members: Object.entries(servers).map(([name, { service }]) => ({ name, service })) });
}

describe('the resources of a fleet', () => {
  const notes = resourceServer('notes', ['note:1', 'file:///both'], { templates: ['note:{id}', 'file:///{x}'] });
  const files = resourceServer('files', ['file:///both', 'file:///f'], { hidden: ['file:///hidden'] });
  const fleet = fleetOf({ notes, files, none: scripted({}, { tools: {} }) });

  test('are listed and read by URIs that name their server', async () => {
    const { resources } = await ask(fleet, 'resources/list');
    const uris = resources.map(({ uri }: { uri: string }) => uri);
    expect(uris).toEqual([
      'everwire+notes:note:1',
      'everwire+notes:file:///both',
      'everwire+files:file:///both',
      'everwire+files:file:///f',
    ]);
    const read = await Promise.all(uris.map((uri: string) => ask(fleet, 'resources/read', { uri })));
    expect(read.map(({ contents }) => [contents[0].text, contents[0].uri])).toEqual([
      ['notes', uris[0]],
      ['notes', uris[1]],
      ['files', uris[2]],
      ['files', uris[3]],
    ]);
    expect(read[0]).toHaveProperty('ttlMs', 9);
  });

  test('are listed as templates that name their server', async () => {
    const { resourceTemplates } = await ask(fleet, 'resources/templates/list');
    expect(resourceTemplates).toEqual([
      { uriTemplate: 'everwire+notes:note:{id}', name: 't' },
      { uriTemplate: 'everwire+notes:file:///{x}', name: 't' },
    ]);
    for (const [uri, own] of [
      ['everwire+notes:note:{id}', 'note:{id}'],
      ['everwire+notes:file:///{x}', 'file:///{x}'],
    ]) {
      const result = await ask(fleet, 'completion/complete', { ref: { type: 'ref/resource', uri }, argument: {} });
      expect(result['completion'].values).toEqual(['notes', own]);
    }
  });

  test('are requested from one server after the other, without reading lists, if the URI names no server', async () => {
    const [a, b] = [resourceServer('a', ['x:1']), resourceServer('b', ['x:2'], { hidden: ['x:3'] })];
    const two = fleetOf({ a, b });
    expect((await ask(two, 'resources/read', { uri: 'x:3' }))['contents']).toEqual([{ uri: 'x:3', text: 'b' }]);
    expect([a, b].map(({ seen }) => seen.map(({ method }) => method))).toEqual([
      ['resources/read'],
      ['resources/read'],
    ]);
    await expect(ask(two, 'resources/read', { uri: 'x:4' })).rejects.toMatchObject({ code: -32002 });
    await expect(ask(two, 'resources/read', {})).rejects.toMatchObject({ code: -32602 });
    const { completion } = await ask(two, 'completion/complete', { ref: { type: 'ref/resource', uri: 'x:{y}' } });
    expect(completion.values).toEqual(['a', 'x:{y}']);
  });

  test('are requested with the same parameters from each server, not with a copy for each', async () => {
    const params = { uri: 'x:2' };
    const given: JsonObject[] = [];
    const member = (name: string) => ({
      name,
      service: (exchange: Exchange) => {
        given.push(exchange.params);
        return Promise.reject(new RpcError(-32002, 'Resource not found'));
      },
    });
    const three = createFleet({ members: ['a', 'b', 'c'].map(member) });
    await expect(ask(three, 'resources/read', params)).rejects.toMatchObject({ code: -32002 });
    expect(given).toHaveLength(3);
    for (const each of given) expect(each).toBe(params);
  });

  test('are refused if the URI names an unknown server, and no server gets the request', async () => {
    const [a, b] = [resourceServer('a', [], { hidden: ['EVERWIRE+a:x:1'] }), resourceServer('b', ['everwire+c:x:1'])];
    const two = fleetOf({ a, b });
    for (const uri of [
      'everwire+c:x:1',
      'EVERWIRE+a:x:1',
      'everwire+A:x:1',
      'everwire+:x',
      'everwire+a',
      'Everwire+',
    ]) {
      const refused = { code: -32602, message: `Resource not found: ${uri} does not name a known server` };
      await expect(ask(two, 'resources/read', { uri })).rejects.toMatchObject(refused);
      const ref = { type: 'ref/resource', uri };
      await expect(ask(two, 'completion/complete', { ref, argument: {} })).rejects.toMatchObject(refused);
    }
    expect([a.seen, b.seen]).toEqual([[], []]);
  });

  test('of a single server may have URIs like those of a fleet, because the server may be a fleet', async () => {
    const one = fleetOf({ a: resourceServer('a', ['everwire+c:x:1']) });
    expect((await ask(one, 'resources/read', { uri: 'everwire+c:x:1' }))['contents']).toMatchObject([{ text: 'a' }]);
  });

  test('are looked for at all servers if the URI names none: an unreachable one is skipped, and later asked last', async () => {
    const unreachable = (): never => {
      throw new RpcError(-32000, 'gone', { cause: new NoConnection('gone') });
    };
    const gone = scripted({ 'server/discover': unreachable, 'resources/read': unreachable });
    const two = fleetOf({ gone, b: resourceServer('b', ['x:1']) });
    const read = (uri: string): Promise<JsonObject> => ask(two, 'resources/read', { uri });
    expect((await read('x:1'))['contents']).toMatchObject([{ text: 'b' }]);
    // The unreachable server might have it.
    await expect(read('x:2')).rejects.toThrow('gone');
    await ask(two, 'resources/list');
    gone.seen.length = 0;
    await read('x:1');
    expect(gone.seen).toEqual([]);
  });

  test('have translated URIs in results of tools and prompts, but not in text and structured content', async () => {
    const link = async (tool: string, uri: string): Promise<unknown[]> => {
      const { content, structuredContent } = await ask(fleet, 'tools/call', { name: tool, arguments: { uri } });
      expect(structuredContent).toEqual({ uri });
      return content.map((block: JsonObject) => block['uri'] ?? block['resource']?.uri ?? block['text']);
    };
    const both = 'everwire+files:file:///both';
    expect(await link('files__files_links', 'file:///both')).toEqual([both, both, 'file:///both']);
    const { messages } = await ask(fleet, 'prompts/get', { name: 'files__files_prompt' });
    expect(messages[0].content.resource.uri).toBe(both);
  });

  test('with a single server stay unchanged', async () => {
    const one = fleetOf({ only: resourceServer('only', ['a:1'], { templates: ['b:{id}'] }) });
    const { resources } = await ask(one, 'resources/list');
    expect(resources).toEqual([{ uri: 'a:1', name: 'a:1' }]);
    const { resourceTemplates } = await ask(one, 'resources/templates/list');
    expect(resourceTemplates).toEqual([{ uriTemplate: 'b:{id}', name: 't' }]);
    // URIs that a client remembers from a fleet with several servers still work.
    for (const uri of ['a:1', 'everwire+only:a:1'])
      expect((await ask(one, 'resources/read', { uri }))['contents']).toEqual([{ uri, text: 'only' }]);
  });

  test('whose reading needs an answer are requested again from the server that asked', async () => {
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
