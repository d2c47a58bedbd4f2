import { connect, type Client, type ClientOptions, type JsonObject, type Tool } from 'everwire/client';
import { authorizerFor } from './fixture-client-auth.ts';
import { loadSkills } from './fixture-client-skills.ts';

/**
 * The client that the official conformance suite requires. Run it with `npm run -s fixture:client -- <url>`.
 * `MCP_CONFORMANCE_SCENARIO` names the scenario, and `MCP_CONFORMANCE_CONTEXT` has its data as JSON.
 */

type Play = (client: Client, context: JsonObject) => Promise<unknown>;

const PLAYS: Readonly<Record<string, Play>> = {
  initialize: (client) => client.listTools(),
  tools_call: (client) => client.callTool('add_numbers', { a: 5, b: 3 }),
  'http-standard-headers': callOneOfEach,
  'http-custom-headers': callAsScenarioRequires,
  'http-invalid-tool-headers': callAll,
  'json-schema-ref-no-deref': (client) => client.listTools(),
  'json-schema-2020-12-preservation': echoSchema,
  'sep-2322-client-request-state': confirm,
  'sep-2640-client-no-prefetch': (client) => client.request('skills/list'),
  'sep-2640-client-verify-digest': loadSkills,
  'sep-2640-client-verify-size': loadSkills,
  'sep-2640-client-verify-frontmatter': loadSkills,
};

/** The answers of the user, who keeps all defaults of a form. */
const HANDLERS: Readonly<Record<string, ClientOptions>> = {
  'elicitation-sep1034-client-defaults': { onelicit: () => ({ action: 'accept', content: {} }) },
  'sep-2322-client-request-state': { onelicit: () => ({ action: 'accept', content: { confirmed: true } }) },
  // Nothing asks, but the client must declare what it supports.
  'request-metadata': {
    onelicit: () => ({ action: 'decline' }),
    onsample: () => ({ role: 'assistant', content: { type: 'text', text: '' }, model: 'none' }),
    onroots: () => [],
  },
};

async function callAll(client: Client): Promise<void> {
  for (const tool of await client.listTools()) await client.callTool(tool.name, argumentsFor(tool));
}

async function callOneOfEach(client: Client): Promise<void> {
  await callAll(client);
  for (const { uri } of await client.listResources()) await client.readResource(uri);
  for (const { name } of await client.listPrompts()) await client.getPrompt(name);
}

/** Makes the calls that the scenario requires. */
async function callAsScenarioRequires(client: Client, context: JsonObject): Promise<void> {
  await client.listTools();
  const calls = context['toolCalls'] as { name: string; arguments: JsonObject }[];
  for (const call of calls) await client.callTool(call.name, call.arguments);
}

/** Returns a schema as it was sent. */
async function echoSchema(client: Client): Promise<void> {
  const tools = await client.listTools();
  const schema = tools.find(({ name }) => name === 'json_schema_2020_12_tool')?.inputSchema;
  await client.callTool('json_schema_echo', { schema });
}

/** Gets questions during calls, and makes another call between question and answer. */
async function confirm(client: Client): Promise<void> {
  await client.listTools();
  await Promise.all([client.callTool('test_mrtr_echo_state'), client.callTool('test_mrtr_unrelated')]);
  await client.callTool('test_mrtr_no_state');
  await client.callTool('test_mrtr_no_result_type');
}

/** The minimal arguments of a tool: a value of each required type. */
function argumentsFor({ inputSchema }: Tool): JsonObject {
  const { properties = {}, required = [] } = inputSchema as {
    properties?: Record<string, { type?: string }>;
    required?: string[];
  };
  const values: Record<string, unknown> = { string: 'x', number: 1, integer: 1, boolean: true, array: [], object: {} };
  return Object.fromEntries(required.map((name) => [name, values[properties[name]?.type ?? 'string'] ?? null]));
}

async function main(): Promise<void> {
  const [url] = process.argv.slice(2);
  const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? '';
  if (url === undefined) throw new Error('Give the URL of the server');
  const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as JsonObject;
  const client = await connect(url, {
    clientInfo: { name: 'everwire-conformance-fixture', version: '1.0.0' },
    ...HANDLERS[scenario],
    ...(scenario.startsWith('auth/') && { authorizer: authorizerFor(scenario, context) }),
  });
  try {
    const play = PLAYS[scenario] ?? callAll;
    await play(client, context);
  } finally {
    await client.close();
  }
}

await main();
