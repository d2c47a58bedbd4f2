import { describe, expect, test } from 'vitest';
import { ask, fleetOf, toolServer, tool } from '../../../test/support/fleet.ts';
import { deferred, scripted, settled } from '../../../test/support/service.ts';
import type { Exchange, Service } from '../../core/exchange.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';

const by = (principal: string): { caller: { principal: string } } => ({ caller: { principal } });
const forbidden = (): never => {
  throw RpcError.fromObject({ code: -32600, message: 'forbidden' });
};

/** A server that answers each caller differently. */
function personal(capabilities: (principal: string | undefined) => JsonObject = () => ({ tools: {} })): {
  service: Service;
} {
  return scripted({
    'server/discover': ({ caller: { principal } }) =>
      principal === 'eve'
        ? forbidden()
        : { capabilities: capabilities(principal), instructions: `For ${principal}.`, ttlMs: 5 },
  });
}

describe('what a server sends to one caller', () => {
  test('its identity is not shown to another caller that it refuses', async () => {
    const { fleet } = fleetOf({ s: personal(() => ({ tools: {}, 'x-ada': {} })), b: toolServer('b', []) });
    expect((await ask(fleet, 'server/discover', {}, by('ada')))['instructions']).toBe('# s\n\nFor ada.');
    const refused = await ask(fleet, 'server/discover', {}, by('eve'));
    expect(refused).not.toHaveProperty('instructions');
    expect(refused['capabilities']).not.toHaveProperty('x-ada');
    expect(refused['_meta']['dev.everwire/missing']).toEqual(['s']);
  });

  test('its identity is kept separate for simultaneous callers', async () => {
    const slow = deferred();
    const waits = scripted({
      'server/discover': async ({ caller }: Exchange) => {
        if (caller.principal === 'ada') await slow.promise;
        return { capabilities: {} };
      },
    });
    const { fleet } = fleetOf({ s: personal(), waits });
    const ada = ask(fleet, 'server/discover', {}, by('ada'));
    await settled();
    expect((await ask(fleet, 'server/discover', {}, by('bob')))['instructions']).toBe('# s\n\nFor bob.');
    slow.resolve();
    expect((await ada)['instructions']).toBe('# s\n\nFor ada.');
  });

  test('its capabilities apply to that caller only', async () => {
    const prompts = { 'prompts/list': () => ({ prompts: [{ name: 'p' }] }) };
    const s = scripted(
      {
        ...prompts,
        'server/discover': ({ caller: { principal } }) => ({
          capabilities: principal === 'ada' ? { prompts: {} } : {},
        }),
      },
      {},
    );
    const { fleet } = fleetOf({ s, b: toolServer('b', []) });
    const list = (principal: string): Promise<JsonObject> => ask(fleet, 'prompts/list', {}, by(principal));
    await expect(list('bob')).rejects.toMatchObject({ code: -32601 });
    expect(await list('ada')).toMatchObject({ prompts: [{ name: 's__p' }] });
    await expect(list('bob')).rejects.toMatchObject({ code: -32601 });
  });

  test('its lists are not shown to others, and a refusal does not count for others', async () => {
    const s = toolServer('s', [], {
      'tools/list': ({ caller }) =>
        caller.principal === 'eve' ? forbidden() : { tools: [tool(String(caller.principal))] },
    });
    const { fleet } = fleetOf({ s, b: toolServer('b', ['y']) });
    const shown = async (principal: string): Promise<string[]> =>
      (await ask(fleet, 'tools/list', {}, by(principal)))['tools'].map(({ name }: { name: string }) => name);
    expect(await shown('eve')).toEqual(['b__y']);
    expect(await shown('ada')).toEqual(['s__ada', 'b__y']);
    expect(await shown('bob')).toEqual(['s__bob', 'b__y']);
  });
});
