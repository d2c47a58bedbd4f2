import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { McpServer } from '../../src/server/index.ts';

/**
 * The flows in the specification of 2026-07-28, with a plain HTTP client. Each text below is sent over the wire as
 * it is.
 */

const CONFIG = 'file:///project/config.json';

/** The server of the examples. */
function exampleServer(): McpServer {
  const server = new McpServer({
    name: 'ExampleServer',
    version: '1.0.0',
    instructions: 'This server provides weather and resource utilities.',
    eras: 'modern',
    cache: { discover: { ttlMs: 3_600_000, cacheScope: 'public' } },
  });
  const text = { type: 'string' } as const;

  const place = { input: { type: 'object', properties: { location: text }, required: ['location'] } } as const;
  server.tool('get_weather', place, ({ location }) => `Rain in ${location}`);

  const sql = {
    input: {
      type: 'object',
      properties: { region: { ...text, 'x-mcp-header': 'Region' }, query: text },
      required: ['region', 'query'],
    },
  } as const;
  server.tool('execute_sql', sql, ({ region, query }) => `${query} in ${region}`);

  const said = { input: { type: 'object', properties: { said: { ...text, 'x-mcp-header': 'Said' } } } } as const;
  server.tool('repeat', said, (args) => String(args.said));

  server.tool('work', {}, async (_, ctx) => {
    await ctx.progress(1, 2);
    await ctx.progress(2, 2);
    return 'done';
  });

  server.tool('introduce', {}, async (_, ctx) => {
    const requestedSchema = { type: 'object', properties: { name: text }, required: ['name'] };
    const question = { role: 'user', content: { type: 'text', text: 'What is the capital of France?' } } as const;
    const [login, capital] = await Promise.all([
      ctx.elicit({ message: 'Please provide your GitHub username', requestedSchema }, { key: 'github_login' }),
      ctx.sample(
        {
          messages: [question],
          modelPreferences: {
            hints: [{ name: 'claude-3-sonnet' }],
            intelligencePriority: 0.8,
            speedPriority: 0.5,
          },
          systemPrompt: 'You are a helpful assistant.',
          maxTokens: 100,
        },
        { key: 'capital_of_france' },
      ),
    ]);
    return JSON.stringify([login.content, capital.content]);
  });

  server.resource(CONFIG, { name: 'config' }, () => '{}');
  return server;
}

let server: McpServer;
let url: string;

beforeAll(async () => {
  server = exampleServer();
  ({ url } = await server.listen({ port: 0, grace: 3000 }));
});
afterAll(() => server.close());

function post(body: string, headers: Record<string, string>, to = url): Promise<Response> {
  return fetch(to, {
    method: 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'MCP-Protocol-Version': '2026-07-28',
      ...headers,
    },
    body,
  });
}

const CLIENT = `"_meta": {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": {
        "name": "ExampleClient",
        "version": "1.0.0"
      },
      "io.modelcontextprotocol/clientCapabilities": {}
    }`;
const ABLE = CLIENT.replace('Capabilities": {}', 'Capabilities": { "elicitation": {}, "sampling": {} }');
const SERVER = '"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"ExampleServer","version":"1.0.0"}}';

const answer = (id: string, result: string): string =>
  `{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete",${result},${SERVER}}}`;
const textAnswer = (id: number, text: string): string =>
  answer(String(id), `"content":[{"type":"text","text":${JSON.stringify(text)}}]`);
const event = (data: string): string => `event: message\ndata: ${data}\n\n`;

async function expectJson(response: Response, status: number, body: string): Promise<void> {
  expect(response.status).toBe(status);
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(response.headers.get('mcp-session-id')).toBeNull();
  expect(await response.text()).toBe(body);
}

test('server/discover has the request and response of the specification', async () => {
  const request = `{
  "jsonrpc": "2.0",
  "id": "discover-1",
  "method": "server/discover",
  "params": {
    ${CLIENT}
  }
}`;
  await expectJson(
    await post(request, { 'Mcp-Method': 'server/discover' }),
    200,
    '{"jsonrpc":"2.0","id":"discover-1","result":{"resultType":"complete","supportedVersions":["2026-07-28"],' +
      '"capabilities":{"logging":{},"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true}},' +
      `${SERVER},"ttlMs":3600000,"cacheScope":"public",` +
      '"instructions":"This server provides weather and resource utilities."}}',
  );
});

describe('patterns/mrtr', () => {
  const call = (id: number, more = ''): string => `{
  "jsonrpc": "2.0",
  "id": ${id},
  "method": "tools/call",
  "params": {
    "name": "introduce",
    ${more}${ABLE}
  }
}`;
  const headers = { 'Mcp-Method': 'tools/call', 'Mcp-Name': 'introduce' };
  const login =
    '"github_login":{"method":"elicitation/create","params":{' +
    '"message":"Please provide your GitHub username","requestedSchema":{"type":"object",' +
    '"properties":{"name":{"type":"string"}},"required":["name"]}}}';
  const capital =
    '"capital_of_france":{"method":"sampling/createMessage","params":{"messages":[{"role":"user",' +
    '"content":{"type":"text","text":"What is the capital of France?"}}],' +
    '"modelPreferences":{"hints":[{"name":"claude-3-sonnet"}],"intelligencePriority":0.8,"speedPriority":0.5},' +
    '"systemPrompt":"You are a helpful assistant.","maxTokens":100}}';
  const required = (id: number, questions: string, state: string): string =>
    `{"jsonrpc":"2.0","id":${id},"result":{"resultType":"input_required","inputRequests":{${questions}},` +
    `"requestState":"${state}",${SERVER}}}`;
  const octocat = '"github_login": { "action": "accept", "content": { "name": "octocat" } }';
  const paris = `"capital_of_france": {
      "role": "assistant",
      "content": { "type": "text", "text": "The capital of France is Paris." },
      "model": "claude-3-sonnet-20240307",
      "stopReason": "endTurn"
    }`;
  const introduced = JSON.stringify([{ name: 'octocat' }, { type: 'text', text: 'The capital of France is Paris.' }]);

  /** A response without its state, which is always different, and the state. */
  async function asked(response: Response): Promise<{ text: string; state: string }> {
    expect(response.status).toBe(200);
    const text = await response.text();
    const [, state] = /"requestState":"([\w.-]+)"/.exec(text)!;
    return { text, state: state! };
  }
  const retry = (id: number, answers: string, state: string): Promise<Response> =>
    post(call(id, `"inputResponses": { ${answers} }, "requestState": "${state}", `), headers);

  test('two questions are sent at once, and the request is sent again with both answers', async () => {
    const { text, state } = await asked(await post(call(1), headers));
    expect(text).toBe(required(1, `${login},${capital}`, state));
    await expectJson(await retry(2, `${octocat}, ${paris}`, state), 200, textAnswer(2, introduced));
  });

  test('a missing answer is requested again, and an unrequested one is ignored', async () => {
    const first = await asked(await post(call(1), headers));
    const second = await asked(await retry(2, `${octocat}, "unasked": { "action": "cancel" }`, first.state));
    expect(second.text).toBe(required(2, capital, second.state));
    await expectJson(await retry(3, paris, second.state), 200, textAnswer(3, introduced));
  });

  test('a state that was changed is refused, and so is one of another request', async () => {
    const { state } = await asked(await post(call(1), headers));
    const changed = `${state.slice(0, 20)}${state[20] === 'A' ? 'B' : 'A'}${state.slice(21)}`;
    expect(await (await retry(2, octocat, changed)).json()).toMatchObject({ id: 2, error: { code: -32602 } });
    const other = call(3, `"requestState": "${state}", `).replace('introduce', 'work');
    const response = await post(other, { ...headers, 'Mcp-Name': 'work' });
    expect(await response.json()).toMatchObject({ id: 3, error: { code: -32602 } });
  });

  test('unsupported questions are not asked', async () => {
    const response = await post(call(1).replace(ABLE, CLIENT), headers);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      id: 1,
      error: { code: -32021, data: { requiredCapabilities: { elicitation: {} } } },
    });
  });
});

test('patterns/subscriptions: a subscription runs from the request to the graceful end', async () => {
  const own = exampleServer();
  onTestFinished(() => own.close());
  const listener = await own.listen({ port: 0 });
  const request = `{
  "jsonrpc": "2.0",
  "id": 1,
  "method": "subscriptions/listen",
  "params": {
    ${CLIENT},
    "notifications": {
      "toolsListChanged": true,
      "resourceSubscriptions": ["${CONFIG}"]
    }
  }
}`;
  const response = await post(request, { 'Mcp-Method': 'subscriptions/listen' }, listener.url);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(response.headers.get('x-accel-buffering')).toBe('no');
  const stream = new Text(response);

  const id = '"_meta":{"io.modelcontextprotocol/subscriptionId":1}';
  expect(await stream.event()).toBe(
    event(
      '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{' +
        `"notifications":{"toolsListChanged":true,"resourceSubscriptions":["${CONFIG}"]},${id}}}`,
    ),
  );
  own.resourceUpdated('file:///project/other.json');
  own.prompt('later', {}, () => 'Nobody asked to hear of prompts.');
  own.tool('later', {}, () => 'later');
  expect(await stream.event()).toBe(
    event(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{${id}}}`),
  );
  own.resourceUpdated(CONFIG);
  expect(await stream.event()).toBe(
    event(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"${CONFIG}",${id}}}`),
  );
  await own.close();
  const last = `${SERVER.slice(0, -1)},"io.modelcontextprotocol/subscriptionId":1}`;
  expect(await stream.rest()).toBe(event(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",${last}}}`));
});

describe('transports/streamable-http', () => {
  const request = (id: number, method: string, params: string): string =>
    `{ "jsonrpc": "2.0", "id": ${id}, "method": "${method}", "params": { ${params}${CLIENT} } }`;
  const call = (id: number, name: string, args: string, more: Record<string, string> = {}): Promise<Response> =>
    post(request(id, 'tools/call', `"name": "${name}", "arguments": ${args}, `), {
      'Mcp-Method': 'tools/call',
      'Mcp-Name': name,
      ...more,
    });
  const weather = '{ "location": "Seattle, WA" }';
  const mismatch = (id: number, message: string): string =>
    `{"jsonrpc":"2.0","id":${id},"error":{"code":-32020,"message":"${message}"}}`;

  test('a simple response is JSON', async () => {
    await expectJson(await call(1, 'get_weather', weather), 200, textAnswer(1, 'Rain in Seattle, WA'));
  });

  test('a response after progress is on a stream, which then closes', async () => {
    const body = request(1, 'tools/call', '"name": "work", ').replace('"_meta": {', '"_meta": { "progressToken": 7,');
    const response = await post(body, { 'Mcp-Method': 'tools/call', 'Mcp-Name': 'work' });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const progress = (step: number): string =>
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":${step},"total":2}}`;
    expect(await response.text()).toBe(event(progress(1)) + event(progress(2)) + event(textAnswer(1, 'done')));
  });

  test('the name of a resource is also in a header', async () => {
    const body = request(2, 'resources/read', `"uri": "${CONFIG}", `);
    const headers = { 'Mcp-Method': 'resources/read', 'Mcp-Name': CONFIG };
    await expectJson(
      await post(body, headers),
      200,
      answer('2', `"contents":[{"uri":"${CONFIG}","text":"{}"}]`).replace(/}}$/, ',"ttlMs":0,"cacheScope":"private"}}'),
    );
  });

  test('an argument is in a header if the tool requires it', async () => {
    const args = '{ "region": "us-west1", "query": "SELECT * FROM users" }';
    await expectJson(
      await call(1, 'execute_sql', args, { 'Mcp-Param-Region': 'us-west1' }),
      200,
      textAnswer(1, 'SELECT * FROM users in us-west1'),
    );
    const [without, another] = [
      await call(2, 'execute_sql', args),
      await call(3, 'execute_sql', args, { 'Mcp-Param-Region': 'eu' }),
    ];
    expect([without.status, another.status]).toEqual([400, 400]);
    expect(await without.json()).toMatchObject({ id: 2, error: { code: -32020 } });
    expect(await another.json()).toMatchObject({ id: 3, error: { code: -32020 } });
  });

  test.each([
    ['us-west1', 'us-west1'],
    ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
    [' padded ', '=?base64?IHBhZGRlZCA=?='],
    ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
    ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
  ])('the value %j is encoded as %s', async (value, encoded) => {
    const response = await call(1, 'repeat', JSON.stringify({ said: value }), { 'Mcp-Param-Said': encoded });
    await expectJson(response, 200, textAnswer(1, value));
  });

  test('a header with another name than the body is refused', async () => {
    const response = await call(1, 'get_weather', weather, { 'Mcp-Name': 'foo' });
    await expectJson(
      response,
      400,
      mismatch(1, 'Header mismatch: Mcp-Name is \\"foo\\", and params.name is \\"get_weather\\"'),
    );
  });

  test('an unknown revision is refused with the list of supported ones', async () => {
    const body = request(1, 'tools/list', '').replace('2026-07-28', '2030-01-01');
    const response = await post(body, { 'Mcp-Method': 'tools/list', 'MCP-Protocol-Version': '2030-01-01' });
    await expectJson(
      response,
      400,
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32022,' +
        '"message":"Unsupported protocol version \\"2030-01-01\\": this server speaks 2026-07-28",' +
        '"data":{"supported":["2026-07-28"],"requested":"2030-01-01"}}}',
    );
  });

  test('an unknown method is a protocol error with its own HTTP status', async () => {
    const body = '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found: unheard/of"}}';
    await expectJson(await post(request(1, 'unheard/of', ''), { 'Mcp-Method': 'unheard/of' }), 404, body);
  });

  test('a notification is accepted without a response body', async () => {
    const body = '{ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 99 } }';
    const response = await post(body, { 'Mcp-Method': 'notifications/cancelled' });
    expect(response.status).toBe(202);
    expect(await response.text()).toBe('');
  });

  test('headers of earlier revisions are ignored', async () => {
    const headers = { 'Mcp-Session-Id': 'a', 'Last-Event-ID': 'b' };
    await expectJson(await call(1, 'get_weather', weather, headers), 200, textAnswer(1, 'Rain in Seattle, WA'));
    for (const method of ['GET', 'DELETE']) {
      const response = await fetch(url, { method, headers: { accept: 'text/event-stream' } });
      expect([method, response.status]).toEqual([method, 405]);
    }
  });
});

/** The text of an event stream, event by event. */
class Text {
  readonly #reader: ReadableStreamDefaultReader<string>;
  #text = '';

  constructor({ body }: Response) {
    this.#reader = body!.pipeThrough(new TextDecoderStream()).getReader();
  }

  async event(): Promise<string> {
    while (!this.#text.includes('\n\n')) {
      const { value, done } = await this.#reader.read();
      if (done) throw new Error(`The stream ended with ${this.#text}`);
      this.#text += value;
    }
    const end = this.#text.indexOf('\n\n') + 2;
    const first = this.#text.slice(0, end);
    this.#text = this.#text.slice(end);
    return first;
  }

  async rest(): Promise<string> {
    for (;;) {
      const { value, done } = await this.#reader.read();
      if (done) return this.#text;
      this.#text += value;
    }
  }
}
