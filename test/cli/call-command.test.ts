import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { demo, features, node, runEverwire, startEverwire, temporaryFolder } from '../support/command-line.ts';
import { descendants, isAlive, programs } from '../support/process.ts';

describe('call', () => {
  test("converts arguments to the types of the tool's schema", async () => {
    expect(await runEverwire(['call', 'add', 'a=40', 'b=2', ...demo])).toEqual({ code: 0, stdout: '42', stderr: '' });
  });

  test('prints the result as JSON', async () => {
    const { code, stdout } = await runEverwire(['call', '--json', 'add', 'a=1', 'b:=1', ...demo]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ structuredContent: { result: 2 } });
  });

  test.each([
    ['as JSON', '{"a":1,"b":2}', ''],
    ['from stdin', '-', '{"a":1,"b":2}'],
    ['from a file', '@arguments.json', ''],
  ])('takes arguments %s, and words override them', async (_, source, stdin) => {
    const file = path.join(temporaryFolder(), 'arguments.json');
    writeFileSync(file, '{"a":1,"b":2}');
    const from = source === '@arguments.json' ? `@${file}` : source;
    expect(await runEverwire(['call', 'add', '--args-json', from, 'b=3', ...demo], stdin)).toMatchObject({
      code: 0,
      stdout: '4',
    });
  });

  test.each<[string, string[], RegExp]>([
    ['an unknown argument', ['add', 'aa=1', 'b=2'], /add has no argument "aa" \(did you mean "a"\?\)/],
    ['an argument of another type', ['add', 'a=one', 'b=2'], /the argument a of add must be an integer, not "one"$/],
    ['a missing argument', ['add', 'a=1'], /Invalid arguments for tool add: b: is missing\. add takes a \(integer, re/],
    ['arguments that are not JSON', ['add', '--args-json', '{'], /the arguments from --args-json are not JSON/],
    ['a missing file', ['add', '--args-json', '@/nowhere'], /cannot read the arguments from \/nowhere/],
    ['an unknown tool', ['ad'], /the server has no tool "ad" \(did you mean "add"\?\)$/],
    ['a name with a prefix', ['demo__add'], /the server has no tool "demo__add" \(did you mean "add"\?\)$/],
    ['a name like no other', ['translate'], /the server has no tool "translate"; see everwire list$/],
    ['a missing tool name', [], /the name of a tool is missing/],
  ])('refuses %s before anything is sent', async (_, args, said) => {
    const { code, stdout, stderr } = await runEverwire(['call', ...args, ...demo]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(said);
  });

  test('calls a tool whose input schema is invalid, and says so in one line', async () => {
    const file = path.join(temporaryFolder(), 'invalid.mjs');
    writeFileSync(
      file,
      `import { createInterface } from 'node:readline';
      const results = {
        initialize: {
          protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' },
        },
        'tools/list': { tools: [{ name: 't', inputSchema: { type: 'object', properties: { a: { type: 'text' } } } }] },
        'tools/call': { content: [{ type: 'text', text: 'done' }] },
      };
      createInterface({ input: process.stdin }).on('line', (line) => {
        const { id, method } = JSON.parse(line);
        const answer = results[method] ? { result: results[method] } : { error: { code: -32601, message: 'no' } };
        if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...answer }) + '\\n');
      });`,
    );
    const { code, stdout, stderr } = await runEverwire(['call', 't', 'a:=1', '--', node, file]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'done' });
    expect(stderr).toMatch(/^everwire: the arguments are not checked before the call: The input schema of t .*type.*$/);
  });

  describe('answers the questions of a server', () => {
    const ada = '{"elicit":{"action":"accept","content":{"name":"Ada"}}}';

    test.each([
      ['as JSON', ada, ''],
      ['from stdin', '-', ada],
      ['from a file', '@answers.json', ''],
    ])('%s', async (_, source, stdin) => {
      const file = path.join(temporaryFolder(), 'answers.json');
      writeFileSync(file, ada);
      const answers = source === '@answers.json' ? `@${file}` : source;
      const result = await runEverwire(['call', 'ask', '--answers', answers, ...features], stdin);
      expect(result).toEqual({ code: 0, stdout: '{"action":"accept","content":{"name":"Ada"}}', stderr: '' });
    });

    test.each(['2025-11-25', '2026-07-28'])('in %s, with a text for a model', async (revision) => {
      const args = ['call', 'sample', 'prompt=Hi', '--answers', '{"sample":"Hello"}', '--revision', revision];
      const { code, stdout } = await runEverwire([...args, ...features]);
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ role: 'assistant', content: { type: 'text', text: 'Hello' } });
    });

    test.each<[string, string, string]>([
      [
        'does not match the form',
        '{"elicit":"accept"}',
        'The answer in answers.elicit does not match the form: name: is missing',
      ],
      [
        'is missing in a list',
        '{"elicit":[]}',
        'Unexpected question: "Who are you?". There are 0 answers in answers.elicit, and this is question 1',
      ],
    ])('and says why if an answer %s', async (_, answers, why) => {
      const { code, stderr } = await runEverwire(['call', 'ask', '--answers', answers, ...features]);
      expect(code).toBe(1);
      expect(stderr.split('\n').slice(0, -1)).toEqual([`everwire: ${why}`]);
    });

    test('except those that it has no answer for', async () => {
      const { code, stderr } = await runEverwire(['call', 'ask', '--answers', '{"sample":"x"}', ...features]);
      expect(code).toBe(1);
      expect(stderr).toMatch(/elicitation/);
    });

    test.each<[string, string[], string]>([
      ['JSON with a mistake', ['{'], 'the answers from --answers are not JSON: '],
      ['an unknown kind', ['{"elicits":"accept"}'], '--answers has the unknown key "elicits" (did you mean "elicit"?)'],
      ['roots', ['{"roots":[]}'], '--answers has the unknown key "roots"; offer roots with --root'],
      [
        'an unknown action',
        ['{"elicitUrl":["accept","yes"]}'],
        'elicitUrl in --answers must be "accept", "decline", "cancel", or an object with one of them as "action", or a list of such answers, not "yes"',
      ],
      [
        'a model message without content',
        ['{"sample":{"role":"assistant"}}'],
        'sample in --answers must be a text, or an object with role, content and model, or a list of such answers, not {"role":"assistant"}',
      ],
      ['stdin for two options', ['-', '--args-json', '-'], '--args-json and --answers cannot both read stdin'],
    ])('but refuses %s', async (_, answers, said) => {
      const { code, stdout, stderr } = await runEverwire(['call', 'ask', '--answers', ...answers, ...features]);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain(`everwire: ${said}`);
    });
  });

  test('prints a tool error on stderr, or in the JSON', async () => {
    expect(await runEverwire(['call', 'fail', ...features])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'everwire: fail failed: as it should',
    });
    const { code, stdout } = await runEverwire(['call', 'fail', '--json', ...features]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ isError: true });
  });

  test('shows a warning that a server causes again and again at most 20 times', async () => {
    const file = path.join(temporaryFolder(), 'floods.mjs');
    writeFileSync(
      file,
      `import { createInterface } from 'node:readline';
      const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
      const initialized = {
        protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' },
      };
      const results = {
        initialize: initialized,
        'tools/list': { tools: [{ name: 't', inputSchema: { type: 'object' } }] },
        'tools/call': { content: [{ type: 'text', text: 'done' }] },
      };
      createInterface({ input: process.stdin }).on('line', (line) => {
        const { id, method } = JSON.parse(line);
        if (id === undefined) return;
        const params = { progressToken: 'none', progress: 1 };
        if (method === 'tools/call') for (let n = 0; n < 1000; n += 1) write({ method: 'notifications/progress', params });
        write({ id, ...(results[method] ? { result: results[method] } : { error: { code: -32601, message: 'no' } }) });
      });`,
    );
    const { code, stdout, stderr } = await runEverwire(['call', 't', '--', node, file]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'done' });
    const warnings = stderr.split('\n');
    expect(warnings).toHaveLength(20);
    expect(warnings[0]).toBe('everwire: Progress was ignored: "none" belongs to no active request');
  });

  test('shows content of every kind, and writes binary content to a file', async () => {
    const plain = await runEverwire(['call', 'content', ...features]);
    expect(plain).toMatchObject({ code: 0, stderr: '' });
    expect(plain.stdout.split('\n')).toEqual([
      'text',
      '[image/png, 70 bytes]',
      '[audio/wav, 44 bytes]',
      'Item 1',
      '[link to feature://item/2: Item 2]',
    ]);
    const directory = temporaryFolder();
    const file = path.join(directory, 'content.bin');
    const { stdout } = await runEverwire(['call', 'content', '--output', file, ...features]);
    expect(stdout).toContain(`[image/png, 70 bytes, written to ${file}]`);
    expect(readFileSync(file).subarray(1, 4).toString()).toBe('PNG');
    expect(readFileSync(path.join(directory, 'content-2.bin')).subarray(0, 4).toString()).toBe('RIFF');
  });

  test("shows no progress in a pipe, and the server's log on stderr", async () => {
    expect(await runEverwire(['call', 'count', 'to=3', ...features])).toEqual({
      code: 0,
      stdout: 'counted to 3',
      stderr: '',
    });
    expect(await runEverwire(['call', 'log', 'level=warning', 'data=careful', ...features])).toEqual({
      code: 0,
      stdout: 'logged',
      stderr: '[warning] feature-server: careful',
    });
    const quiet = await runEverwire(['call', 'log', 'level=info', 'data=x', '--log-level', 'error', ...features]);
    expect(quiet.stderr).toBe('');
  });

  test('declares no elicitation without a terminal', async () => {
    const { code, stdout, stderr } = await runEverwire(['call', 'ask', ...features]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/elicitation/);
  });

  test('reports a timeout, and ends the server’s process', async () => {
    // Small, so that it starts in far less than the time for connecting, which is the same.
    const server = `
      console.error(process.pid);
      const initialized = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } };
      const results = { initialize: initialized, 'tools/list': { tools: [{ name: 't', inputSchema: { type: 'object' } }] } };
      require('readline').createInterface(process.stdin).on('line', (line) => {
        const { id, method } = JSON.parse(line);
        if (id === undefined || method === 'tools/call') return;
        const answer = results[method] ? { result: results[method] } : { error: { code: -32601, message: 'no' } };
        console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
      });`;
    const { code, stderr } = await runEverwire(['call', 't', '--timeout', '3', '--', node, '-e', server]);
    expect(code).toBe(5);
    const [pid, ...said] = stderr.split('\n');
    expect(said).toEqual([expect.stringMatching(/^everwire: tools\/call was not answered within 3000 ms/)]);
    expect(isAlive(Number(pid))).toBe(false);
  });

  test.each(['SIGINT', 'SIGTERM'] as const)(
    'is cancelled by %s, and leaves no server process behind',
    async (signal) => {
      const logs = temporaryFolder();
      const child = startEverwire([
        'call',
        'wait',
        '--',
        node,
        ...programs.tee,
        logs,
        node,
        ...programs.features,
        '--stdio',
      ]);
      const seen = (): string =>
        readdirSync(logs)
          .map((file) => readFileSync(path.join(logs, file), 'utf8'))
          .join('');
      await expect.poll(seen, { timeout: 15_000 }).toContain('notifications/progress');
      const started = descendants(child.pid);
      expect(started).toHaveLength(2);
      child.child.kill(signal);
      expect(await child.exited).toEqual({ code: 130, signal: null });
      expect(child.stdout).toEqual([]);
      expect(child.stderr).toEqual([]);
      expect(seen()).toContain('notifications/cancelled');
      expect(started.filter(isAlive)).toEqual([]);
    },
  );
});
