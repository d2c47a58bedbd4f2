import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { behaviourTable, rulesTables, withTables } from '../../scripts/rules-table.ts';
import { BEHAVIOUR_RULES } from '../../src/check/rules/index.ts';
import { LineBuffer } from '../../src/inspect/line-buffer.ts';
import { isPart } from '../../src/inspect/record.ts';
import { RULES } from '../../src/lint/index.ts';
import { freePort } from '../interop/moving/commands.ts';
import { demo, node, runEverwire, temporaryFolder } from '../support/command-line.ts';
import { web } from '../support/lint-conversations.ts';
import { programs, root } from '../support/process.ts';
import { StdioScript, rpc, type WireScript } from '../support/wire-script.ts';

const page = readFileSync(`${root}docs/check.md`, 'utf8');
const HEADER = '{"mcpcap":1,"started":"2026-01-01T00:00:00.000Z","masked":[]}\n';

/** Writes a conversation as a recording. */
function recorded(script: WireScript, name = 'session.mcpcap'): string {
  const file = path.join(temporaryFolder(), name);
  const lines = new LineBuffer(false);
  for (const record of script.records) if (!isPart(record)) lines.add(record);
  writeFileSync(file, HEADER + lines.take().toString());
  return file;
}

const mistaken = (): WireScript =>
  web('2025-11-25', {}, {})
    .exchange({ message: rpc(1, 'ping'), headers: { Accept: 'application/json' } }, { message: pong(1) })
    .exchange({ message: rpc(2, 'ping') }, { frames: [pong(2)] })
    .end();
const pong = (id: number): object => ({ jsonrpc: '2.0', id, result: {} });

describe('everwire check', () => {
  test('judges what another command has recorded', async () => {
    const file = path.join(temporaryFolder(), 'session.mcpcap');
    expect(await runEverwire(['list', '--record', file, ...demo])).toMatchObject({ code: 0 });
    const { code, stdout, stderr } = await runEverwire(['check', file]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^session\.mcpcap: no errors, no warnings, no advice\n\n\d+ of \d+ rules had/);
  });

  test('prints a report of at most 80 columns with what to fix first, as in the guide', async () => {
    const { code, stdout } = await runEverwire(['check', recorded(mistaken())]);
    expect(code).toBe(1);
    const example = /^```text\n([\s\S]*?)^```/m.exec(page)![1]!;
    expect(stdout).toContain(example.trimEnd());
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  test('shows escapes for what a peer wrote, and cuts it', async () => {
    const script = new StdioScript().handshake('2025-11-25').raw('s>c', `\u001b[2J${'x'.repeat(1000)}\n`);
    const { stdout } = await runEverwire(['check', recorded(script)]);
    expect(stdout).toContain(String.raw`\u001b[2J`);
    expect(stdout).not.toContain('\u001b');
    expect(stdout.length).toBeLessThan(2000);
  });

  test.skipIf(process.platform === 'win32')('shows escapes for the name of a recording', async () => {
    const { stdout } = await runEverwire(['check', recorded(mistaken(), 'a\u001b[2J\nb.mcpcap')]);
    expect(stdout).toContain(String.raw`a\u001b[2J\nb.mcpcap: `);
  });

  test('writes JSON with clauses, pages and records', async () => {
    const { stdout } = await runEverwire(['check', recorded(mistaken()), '--format', 'json']);
    const { counts, findings, coverage } = JSON.parse(stdout);
    expect(counts).toEqual({ error: 1, warning: 1, advice: 0 });
    expect(findings[0]).toEqual({
      rule: 'http-accept-post',
      area: 'http',
      severity: 'error',
      revision: '2025-11-25',
      clause: 'basic/transports 14',
      url: 'https://modelcontextprotocol.io/specification/2025-11-25/basic/transports',
      records: expect.any(Array),
      seen: 'Accept: application/json',
      right: expect.stringContaining('application/json'),
    });
    expect(
      coverage.map(({ rules }: { rules: number }) => rules).reduce((sum: number, each: number) => sum + each),
    ).toBe(RULES.length);
  });

  test('writes JUnit XML and SARIF to a file', async () => {
    const file = recorded(mistaken());
    const out = path.join(path.dirname(file), 'report');
    const run = await runEverwire(['check', file, '--format', 'junit', '--out', out]);
    expect(run).toEqual({
      code: 1,
      stdout: '',
      stderr: `everwire: session.mcpcap: 1 error, 1 warning, no advice; the report is in ${out}`,
    });
    const xml = readFileSync(out, 'utf8');
    expect(xml.match(/<testcase /g)).toHaveLength(RULES.length);
    expect(xml.match(/<failure /g)).toHaveLength(1);
    expect(xml).toContain('<failure type="http-accept-post"');
    await runEverwire(['check', file, '--format', 'sarif', '--out', out]);
    const { version, runs } = JSON.parse(readFileSync(out, 'utf8'));
    expect(version).toBe('2.1.0');
    expect(runs[0].results.map(({ ruleId, level }: { ruleId: string; level: string }) => [ruleId, level])).toEqual([
      ['http-accept-post', 'error'],
      ['sse-priming-event', 'warning'],
    ]);
    expect(runs[0].tool.driver.rules).toHaveLength(RULES.length);
  });

  test.each([
    [['check'], 'a target is missing: a URL, a name in mcp.json, or -- and a command'],
    [['check', 'a.mcpcap', 'b'], 'check takes only a target, and not "b"'],
    [['check', 'https://example.com/mcp', 'b'], 'check takes only a target, and not "b"'],
    [
      ['check', 'https://example.com/mcp', '--call', 'add'],
      `--call must be written 'tool={"name":"value"}' or tool=file.json, and not "add"`,
    ],
    [
      ['check', 'https://example.com/mcp', '--answers', '{"elicits":"decline"}'],
      '--answers has the unknown key "elicits" (did you mean "elicit"?)',
    ],
  ])('%j is refused', async (args, message) => {
    expect(await runEverwire(args)).toEqual({ code: 2, stdout: '', stderr: `everwire: ${message}` });
  });

  test('a file that is no recording is refused', async () => {
    const { code, stderr } = await runEverwire(['check', `${root}package.json`]);
    expect(code).toBe(2);
    expect(stderr).toContain('package.json, line 1: ');
  });

  test('a file that does not exist is refused', async () => {
    expect(await runEverwire(['check', 'gone.mcpcap'])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'everwire: cannot read gone.mcpcap: there is no such file or folder',
    });
  });

  test('says that records are missing', async () => {
    const file = recorded(new StdioScript());
    writeFileSync(file, `${HEADER}{"n":1,"t":0,"layer":"gap","from":1}\n{"n":`);
    const { code, stdout } = await runEverwire(['check', file]);
    expect(code).toBe(0);
    expect(stdout).toContain('The recording ends with an incomplete line.\nRecords are missing in the recording');
  });

  test('a report that cannot be written is an error', async () => {
    const out = path.join(temporaryFolder(), 'no', 'report');
    const { code, stderr } = await runEverwire(['check', recorded(new StdioScript()), '--out', out]);
    expect(code).toBe(1);
    expect(stderr).toContain(`cannot write ${out}: `);
  });
});

test('docs/check.md has all rules (npm run docs:rules writes them)', () => {
  expect(withTables(page, rulesTables(RULES))).toBe(page);
  expect(withTables(page, behaviourTable(BEHAVIOUR_RULES), 'behaviour')).toBe(page);
  console.info(rulesTables(RULES).split('\n', 1)[0]);
});

test('the commands of the workflow in docs/check.md work', async () => {
  const [, workflow] = /^```yaml\n([\s\S]*?)^```/m.exec(page)!;
  const steps: { run?: string }[] = parse(workflow!).jobs.check.steps;
  const commands = steps.flatMap(({ run }) => (run?.startsWith('npx everwire ') ? [run.split(' ').slice(2)] : []));
  const folder = temporaryFolder();
  const placed = (word: string): string => (/^(session|report)\./.test(word) ? path.join(folder, word) : word);
  for (const words of commands) {
    const at = words.indexOf('--');
    const args = (at < 0 ? words : words.slice(0, at)).map(placed);
    expect(await runEverwire([...args, ...(at < 0 ? [] : demo)])).toMatchObject({ code: 0 });
  }
  expect(JSON.parse(readFileSync(path.join(folder, 'report.sarif'), 'utf8'))).toMatchObject({ version: '2.1.0' });
});

test.skipIf(process.platform === 'win32')('the step for a server over HTTP in docs/check.md works', async () => {
  const [, step] = [...page.matchAll(/^```yaml\n([\s\S]*?)^```/gm)];
  const [{ run }] = parse(step![1]!);
  const folder = temporaryFolder();
  const port = String(await freePort());
  mkdirSync(path.join(folder, 'node_modules'));
  symlinkSync(root, path.join(folder, 'node_modules/everwire'));
  copyFileSync(`${root}dist/examples/guide/first.js`, path.join(folder, 'server.js'));
  writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
  const npx = [node, ...programs.everwire].map((word) => `'${word}'`).join(' ');
  writeFileSync(path.join(folder, 'npx'), `#!/bin/sh\nshift\nexec ${npx} "$@"\n`, { mode: 0o755 });
  const child = spawn('bash', ['-ec', run.replaceAll('8000', port)], {
    cwd: folder,
    detached: true,
    env: { ...process.env, PORT: port, PATH: `${folder}:${path.dirname(node)}:${process.env['PATH']}` },
    stdio: 'ignore',
  });
  // With the server, which stays in the background.
  onTestFinished(() => void process.kill(-child.pid!));
  expect(await once(child, 'exit')).toEqual([0, null]);
  const report = JSON.parse(readFileSync(path.join(folder, 'report.sarif'), 'utf8'));
  expect(report.runs[0].tool.driver.name).toBe('everwire');
});
