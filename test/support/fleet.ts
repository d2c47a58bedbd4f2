import { createFleet, type Fleet, type FleetOptions } from '../../src/bridge/fleet/fleet.ts';
import type { Service } from '../../src/core/exchange.ts';
import { RpcError } from '../../src/jsonrpc/errors.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { TestExchange, type TestExchangeOptions } from './exchange.ts';
import { deferred, scripted } from './service.ts';

export type Answers = Parameters<typeof scripted>[0];

/** A tool as a list has it. */
export function tool(name: string): JsonObject {
  return { name, inputSchema: { type: 'object' } };
}

/** A server with the given tools, each of which returns its own name. */
export function toolServer(name: string, tools: readonly string[], more: Answers = {}): ReturnType<typeof scripted> {
  return scripted(
    {
      'tools/list': () => ({ tools: tools.map(tool) }),
      'tools/call': ({ params }) => ({ content: [{ type: 'text', text: `${name}: ${params['name']}` }] }),
      ...more,
    },
    { tools: { listChanged: true } },
  );
}

export function fleetOf(
  servers: Record<string, { service: Service }>,
  options: Partial<FleetOptions> = {},
): { fleet: Fleet; warnings: string[] } {
  const warnings: string[] = [];
  const members = Object.entries(servers).map(([name, { service }]) => ({ name, service }));
  return { fleet: createFleet({ members, onwarning: (warning) => void warnings.push(warning), ...options }), warnings };
}

export function ask(
  fleet: Fleet,
  method: string,
  params: JsonObject = {},
  options?: TestExchangeOptions,
): Promise<JsonObject> {
  return fleet.service(new TestExchange(method, params, options));
}

/** The names of all entries of a list, over all its pages. */
export async function list(fleet: Fleet, method: string, key: string, id: string): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | undefined; ;) {
    const result = await ask(fleet, method, cursor === undefined ? {} : { cursor });
    for (const entry of result[key]) found.push(entry[id]);
    cursor = result['nextCursor'];
    if (cursor === undefined) return found;
  }
}

export const tools = (fleet: Fleet): Promise<string[]> => list(fleet, 'tools/list', 'tools', 'name');

export async function call(fleet: Fleet, name: string): Promise<string> {
  return (await ask(fleet, 'tools/call', { name }))['content'][0].text;
}

/** A service that does not answer until the test says so. */
export function hanging(then: Service): { service: Service; wake: () => void } {
  const { promise, resolve } = deferred();
  return { service: (exchange) => promise.then(() => then(exchange)), wake: () => resolve() };
}

export const never = (): never => {
  throw new RpcError(-32601, 'Method not found');
};

export const down = (): never => {
  throw new RpcError(-32000, 'gone');
};
