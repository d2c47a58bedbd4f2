import { expect } from 'vitest';
import { INFO } from '../clients.ts';
import { capabilitiesOf } from './downstreams.ts';
import { always, named, rejection, SAME, since, textOf, toolNamed, type Feature } from './feature.ts';
import { AUDIO, CITIES, HINTS, ICONS, LINK, META, VERBS, WEATHER } from './shown.ts';

/** Features of lists, reads and calls. */
export const listFeatures: readonly Feature[] = [
  {
    name: 'introduction of both',
    arrives: always,
    run: async ({ client, down }) => {
      const { methods } = client;
      const official = { name: expect.stringMatching(/^official [12].x$/), version: '1.0.0' };
      expect(methods.getServerVersion()).toMatchObject(official);
      expect(methods.getInstructions()).toBe('Look around.');
      const { name, capabilities } = JSON.parse(textOf(await client.callTool({ name: 'who' })));
      expect(name).toBe(INFO.name);
      expect(capabilities).toMatchObject(capabilitiesOf(down.revision));
    },
  },
  {
    name: 'tools',
    arrives: always,
    run: async (cell) => {
      expect(await toolNamed(cell, 'echo')).toMatchObject({
        description: 'Says the same',
        inputSchema: { type: 'object', properties: { word: { type: 'string' } } },
      });
      const echo = { name: 'echo', arguments: { word: 'grüße' } };
      expect(JSON.parse(textOf(await cell.client.callTool(echo)))).toEqual({ word: 'grüße' });
      // A client of 2026-07-28 repeats this parameter in a header, whether or not the server uses it.
      const region = { name: 'region', arguments: { region: 'grüße' } };
      expect(JSON.parse(textOf(await cell.client.callTool(region)))).toEqual({ region: 'grüße' });
    },
  },
  {
    name: 'titles and annotations',
    arrives: (down, up) => {
      if (up.revision < '2025-03-26') return undefined;
      if (down.revision < '2025-03-26') return 'nothing';
      return down.revision < '2025-06-18' && up.revision >= '2025-06-18' ? 'the title in the annotations' : SAME;
    },
    run: async (cell, arrives) => {
      const { title, annotations } = await toolNamed(cell, 'echo');
      const titled = cell.up.revision >= '2025-06-18';
      if (arrives === 'nothing') expect([title, annotations]).toEqual([undefined, undefined]);
      else if (arrives === SAME) {
        expect(title).toBe(titled ? 'Echo' : undefined);
        expect(annotations).toEqual({ readOnlyHint: true });
      } else {
        expect(title).toBeUndefined();
        expect(annotations).toEqual({ title: 'Echo', readOnlyHint: true });
      }
    },
  },
  {
    name: 'structured output',
    arrives: since('2025-06-18', 'only its text, without an output schema'),
    run: async (cell, arrives) => {
      const { outputSchema } = await toolNamed(cell, 'weather');
      const { content, structuredContent } = await cell.client.callTool({ name: 'weather' });
      expect(content).toEqual([{ type: 'text', text: JSON.stringify(WEATHER) }]);
      expect(structuredContent).toEqual(arrives === SAME ? WEATHER : undefined);
      if (arrives === SAME) expect(outputSchema).toMatchObject({ type: 'object', required: ['temperature'] });
      else expect(outputSchema).toBeUndefined();
    },
  },
  {
    name: 'structured output of any type',
    arrives: since('2026-07-28', 'only its text, without an output schema'),
    run: async (cell, arrives) => {
      const { outputSchema } = await toolNamed(cell, 'cities');
      const { content, structuredContent } = await cell.client.callTool({ name: 'cities' });
      expect(content).toEqual([{ type: 'text', text: JSON.stringify(CITIES) }]);
      expect(structuredContent).toEqual(arrives === SAME ? CITIES : undefined);
      if (arrives === SAME) expect(outputSchema).toMatchObject({ type: 'array' });
      else expect(outputSchema).toBeUndefined();
    },
  },
  {
    name: 'audio',
    arrives: since('2025-03-26', 'a text that names its type'),
    run: async ({ client }, arrives) => {
      const { content } = await client.callTool({ name: 'contents' });
      expect(content.slice(0, 3).map(({ type }: { type: string }) => type)).toEqual(['text', 'image', 'resource']);
      expect(content[3]).toEqual(arrives === SAME ? AUDIO : { type: 'text', text: '[audio, audio/wav]' });
    },
  },
  {
    name: 'resource links',
    arrives: since('2025-06-18', 'a text with name and URI'),
    run: async ({ client }, arrives) => {
      const { content } = await client.callTool({ name: 'contents' });
      expect(content[4]).toEqual(arrives === SAME ? LINK : { type: 'text', text: 'fixed: world://fixed' });
    },
  },
  {
    name: 'resources',
    arrives: always,
    run: async ({ client }) => {
      const { resources } = await client.methods.listResources();
      expect(named(resources, 'fixed')).toMatchObject({ uri: 'world://fixed', mimeType: 'text/plain' });
      expect(await client.methods.readResource({ uri: 'world://fixed' })).toMatchObject({
        contents: [{ uri: 'world://fixed', text: 'A text.' }],
      });
      expect(await client.methods.readResource({ uri: 'world://bytes' })).toMatchObject({
        contents: [{ uri: 'world://bytes', blob: 'AAEC' }],
      });
    },
  },
  {
    name: 'resource templates',
    arrives: always,
    run: async ({ client }) => {
      const { resourceTemplates } = await client.methods.listResourceTemplates();
      expect(named(resourceTemplates, 'item')).toMatchObject({ uriTemplate: 'world://item/{id}' });
      const { contents } = await client.methods.readResource({ uri: 'world://item/7' });
      expect(contents).toEqual([{ uri: 'world://item/7', mimeType: 'text/plain', text: 'Item 7' }]);
    },
  },
  {
    name: 'prompts',
    arrives: always,
    run: async ({ client }) => {
      const { messages } = await client.methods.getPrompt({ name: 'thank', arguments: { name: 'Ada' } });
      expect(messages).toEqual([{ role: 'user', content: { type: 'text', text: 'Thank Ada.' } }]);
    },
  },
  {
    name: 'completion',
    arrives: always,
    run: async ({ client, down }) => {
      const { completions } = client.methods.getServerCapabilities() ?? {};
      // A server of 2024-11-05 cannot declare it, and clients of later revisions must not use an undeclared feature.
      expect(completions).toEqual(down.revision < '2025-03-26' ? undefined : {});
      const ref = { type: 'ref/prompt', name: 'greet' };
      const { completion } = await client.methods.complete({ ref, argument: { name: 'name', value: 'A' } });
      expect(completion).toEqual({ values: ['Ada', 'Alan'], total: 2, hasMore: false });
    },
  },
  {
    name: 'pagination',
    arrives: always,
    run: async ({ client }) => {
      const found: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await client.request('prompts/list', cursor === undefined ? {} : { cursor });
        expect(page['prompts']).toHaveLength(1);
        found.push(page['prompts'][0].name);
        cursor = page['nextCursor'];
      } while (cursor !== undefined);
      expect(found).toEqual(VERBS.map((verb) => verb.toLowerCase()));
      expect(await rejection(client.request('prompts/list', { cursor: '99' }))).toMatchObject({ code: -32602 });
    },
  },
  {
    name: 'cache hints',
    arrives: since('2026-07-28', 'the list without them'),
    run: async ({ client }, arrives) => {
      const list = await client.request('resources/templates/list', {});
      expect(list['resourceTemplates']).toHaveLength(1);
      const { ttlMs, cacheScope } = list;
      expect({ ttlMs, cacheScope }).toEqual(arrives === SAME ? HINTS : { ttlMs: undefined, cacheScope: undefined });
    },
  },
  {
    name: 'icons',
    arrives: since('2025-11-25', 'the rest without them'),
    run: async (cell, arrives) => {
      const wanted = arrives === SAME ? ICONS : undefined;
      expect((await toolNamed(cell, 'echo'))['icons']).toEqual(wanted);
      const { resources } = await cell.client.methods.listResources();
      expect(named(resources, 'fixed')['icons']).toEqual(wanted);
    },
  },
  {
    name: '`_meta`',
    arrives: always,
    run: async (cell) => {
      const { client } = cell;
      expect((await toolNamed(cell, 'echo'))['_meta']).toEqual(META);
      const { resources } = await client.methods.listResources();
      expect(named(resources, 'fixed')['_meta']).toEqual(META);
      const { contents } = await client.methods.readResource({ uri: 'world://fixed' });
      expect(contents[0]['_meta']).toEqual(META);
      const said = { 'example.com/said': ['up', 'and', 'down'] };
      const result = await client.request('tools/call', { name: 'echo', arguments: {}, _meta: said });
      expect(result['_meta']).toMatchObject({ 'example.com/heard': said['example.com/said'] });
    },
  },
];
