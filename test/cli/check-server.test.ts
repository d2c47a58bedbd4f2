import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readRecording } from '../../src/inspect/read-recording.ts';
import { demo, runEverwire, temporaryFolder } from '../support/command-line.ts';
import { eventually, root, startNode } from '../support/process.ts';

const FAULTY = `${root}test/fixtures/faulty.mjs`;
/** A server that breaks one rule. */
const faulty = (fault: string): string[] => ['--', process.execPath, FAULTY, fault, 'stdio'];

describe('everwire check of a server', () => {
  test('prints scores, what was not tried and how to allow it, in at most 80 columns', async () => {
    const { code, stdout, stderr } = await runEverwire(['check', ...demo]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/: no errors, no warnings, no advice\n/);
    expect(stdout).toContain('The server speaks 2026-07-28 (stdio), 2025-11-25 (stdio), ');
    expect(stdout).toContain('json-rpc 100%, lifecycle 100%');
    expect(stdout).toContain(`1 tool was not called: add; to try: --call 'add={…}'`);
    expect(stdout).toContain('request-state-verified: no call is allowed');
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
    expect(stderr).toMatch(/^everwire: checking 2026-07-28\n[^]*everwire: trying bad input$/);
  });

  test('ends with code 1 if there are errors, and names what to fix first', async () => {
    const { code, stdout } = await runEverwire(['check', ...faulty('tool-unknown-succeeds')]);
    expect(code).toBe(1);
    expect(stdout).toContain('Fix first:\n  tool-unknown-succeeds: ');
    expect(stdout).toMatch(/tools \d\d%/);
  });

  test('writes JSON with scores, and a recording with the records of a finding', async () => {
    const file = path.join(temporaryFolder(), 'check.mcpcap');
    const options = ['--format', 'json', '--record', file];
    const { stdout } = await runEverwire(['check', ...options, ...faulty('prompt-unknown')]);
    const { findings, scores, spoken, notTried, skipped } = JSON.parse(stdout);
    expect(findings.map(({ rule }: { rule: string }) => rule)).toEqual(['prompt-unknown', 'prompt-unknown']);
    expect(spoken).toContainEqual({ revision: '2025-11-25', route: 'connection' });
    expect(scores.find(({ area }: { area: string }) => area === 'prompts').score).toBeLessThan(100);
    expect(notTried).toContainEqual({ what: '2 tools were not called: ask, wait', how: "--call 'ask={…}'" });
    expect(skipped['request-state-verified']).toBe('no call is allowed');
    const [n] = findings[0].records;
    const shown = [];
    for await (const record of await readRecording(file)) if (record.n === n) shown.push(record);
    expect(shown).toMatchObject([{ layer: 'message', dir: 's>c', kind: 'error' }]);
  });

  test('calls the tools that --call names, with arguments of the command line or of a file', async () => {
    const file = path.join(temporaryFolder(), 'arguments.json');
    writeFileSync(file, '{}');
    const calls = ['--call', `wait=${file}`, '--call', 'ask={}'];
    const { stdout } = await runEverwire(['check', ...calls, '--format', 'json', ...faulty('request-state-verified')]);
    const { findings, notTried } = JSON.parse(stdout);
    expect(findings.map(({ rule }: { rule: string }) => rule)).toContain('request-state-verified');
    expect(JSON.stringify(notTried)).not.toContain('not called');
  });

  test('names the server by its package, if its script has a general name', async () => {
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, 'package.json'), '{"name":"@ada/library"}');
    writeFileSync(path.join(folder, 'index.mjs'), `await import(${JSON.stringify(pathToFileURL(FAULTY).href)});`);
    const command = ['--', process.execPath, path.join(folder, 'index.mjs'), 'tool-unknown-succeeds', 'stdio'];
    const { stdout } = await runEverwire(['check', '--format', 'json', ...command]);
    expect(JSON.parse(stdout).target).toBe('library');
  });

  // Code scanning of GitHub refuses a report with a location that has the scheme https.
  test('names the host and the path of a server as the location in SARIF', async () => {
    const server = startNode([FAULTY, 'tool-unknown-succeeds', 'http']);
    onTestFinished(async () => void (await server.stop()));
    const port = await eventually(() => server.stdout[0], 'the port of the server');
    const { stdout } = await runEverwire(['check', '--format', 'sarif', `http://127.0.0.1:${port}/mcp?key=secret`]);
    const { results } = JSON.parse(stdout).runs[0];
    const uris = results.map(({ locations: [{ physicalLocation }] }: any) => physicalLocation.artifactLocation.uri);
    expect(new Set(uris)).toEqual(new Set([`127.0.0.1%3A${port}/mcp`]));
  });

  test('ends with code 3 if the server cannot be reached', async () => {
    const { code, stderr } = await runEverwire(['check', 'http://127.0.0.1:9/mcp']);
    expect(code).toBe(3);
    expect(stderr).toContain('nothing listens there');
  });
});
