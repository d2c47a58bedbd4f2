import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { runEverwire, temporaryFolder } from '../support/command-line.ts';
import { findShell } from '../support/find-shell.ts';
import { programs } from '../support/process.ts';

/** Runs a program on a terminal. Other systems have a `script` with other arguments. */
const SCRIPT = '/usr/bin/script';
const able = process.platform === 'linux' && existsSync(SCRIPT);

let folder: string;
let env: NodeJS.ProcessEnv;

beforeEach(() => {
  folder = temporaryFolder();
  mkdirSync(path.join(folder, 'bin'));
  const command = [process.execPath, ...programs.everwire].map((word) => `'${word}'`).join(' ');
  writeFileSync(path.join(folder, 'bin', 'everwire'), `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 });
  const servers = { weather: {}, 'My mail': {}, '$(touch pwned)': {} };
  writeFileSync(path.join(folder, 'mcp.json'), JSON.stringify({ mcpServers: servers }));
  const { PATH } = process.env;
  env = { PATH: `${path.join(folder, 'bin')}:${PATH}`, HOME: folder, ZDOTDIR: folder, TERM: 'dumb', LC_ALL: 'C.UTF-8' };
});

/** Starts a shell on a terminal, and types into it. Resolves when the terminal shows the text. */
async function type(shell: string, setup: string, keys: string, expected: RegExp): Promise<void> {
  const child = spawn(SCRIPT, ['-qefc', shell, '/dev/null'], { cwd: folder, env: { ...env, SHELL: '/bin/sh' } });
  onTestFinished(() => void child.kill('SIGKILL'));
  let shown = '';
  child.stdout.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
  });
  // The answer differs from what is typed, which the terminal shows too.
  child.stdin.write(`${setup}\necho rea''dy\n`);
  await expect.poll(() => shown, { timeout: 30_000 }).toMatch(/ready/);
  shown = '';
  child.stdin.write(keys);
  await expect.poll(() => shown, { timeout: 30_000 }).toMatch(expected);
  // A shell that is killed may still write its history.
  child.stdin.write('\u0003\nexit\n');
  await once(child, 'close');
}

describe.runIf(able && findShell('bash'))('bash', () => {
  const bash = 'bash --norc --noprofile -i';
  const setup = 'eval "$(everwire completion bash)"';

  test('completes a command', async () => {
    await type(bash, setup, 'everwire unin\t', /everwire uninstall /);
  });

  test('completes the name of a server, in quotes', async () => {
    await type(bash, setup, 'everwire ping My\t', /everwire ping My\\ mail /);
    await type(bash, setup, 'everwire ping $\t', /\\\$\\\(touch\\ pwned\\\) /);
    expect(existsSync(path.join(folder, 'pwned'))).toBe(false);
  });

  test('completes a value after =', async () => {
    await type(bash, setup, 'everwire call x --log-level=deb\t', /--log-level=debug /);
  });

  test('completes files where a file is expected', async () => {
    await type(bash, setup, 'everwire call --config mc\t', /--config mcp\.json /);
  });
});

describe.runIf(able && findShell('zsh'))('zsh', () => {
  const setup = "PS1='> '; autoload -U compinit; compinit -u; source <(everwire completion zsh)";

  test('completes a command', async () => {
    await type('zsh -f -i', setup, 'everwire unin\t', /uninstall/);
  });

  test('completes the name of a server, in quotes', async () => {
    await type('zsh -f -i', setup, 'everwire ping My\t', /My\\ mail/);
  });

  test('completes files where a file is expected', async () => {
    await type('zsh -f -i', setup, 'everwire call --config mc\t', /mcp\.json/);
  });
});

describe.runIf(findShell('fish'))('fish', () => {
  function completed(line: string): string[] {
    const { stdout } = spawnSync('fish', ['-c', `everwire completion fish | source; complete -C '${line}'`], {
      cwd: folder,
      env,
      encoding: 'utf8',
    });
    return stdout.trim().split('\n');
  }

  test('completes commands, names and files', () => {
    expect(completed('everwire unin')).toEqual(['uninstall\tremove a server from the configuration of an MCP host']);
    expect(completed('everwire ping ')).toEqual(['$(touch pwned)\tmcp.json', 'My mail\tmcp.json', 'weather\tmcp.json']);
    expect(completed('everwire call --config mc')).toEqual(['mcp.json']);
  });
});

/** Names that end a quoted text, or that a shell expands, if they are not quoted well. */
const HOSTILE = [
  ...['it\u2019s', '\u2018;touch pwned;\u2018', "';touch pwned;'", '\u201a;touch pwned;\u201b', '";touch pwned;"'],
  ...['`touch pwned`', '$(touch pwned)', '${IFS}', '@pwned', '; touch pwned', 'a|touch pwned', '!!', '*', '~', 'a\\'],
];

function withHostileNames(): void {
  const mcpServers = Object.fromEntries(HOSTILE.map((name) => [name, {}]));
  writeFileSync(path.join(folder, 'mcp.json'), JSON.stringify({ mcpServers }));
}

describe.runIf(findShell('bash'))('hostile names in bash', () => {
  test('are one word each, and run nothing', () => {
    withHostileNames();
    const script = `eval "$(everwire completion bash)"
      COMP_LINE='everwire call '; COMP_POINT=\${#COMP_LINE}; _everwire
      eval "words=(\${COMPREPLY[*]})"; printf '%s\\n' "\${words[@]}"`;
    const { stdout } = spawnSync('bash', ['--norc', '-c', script], { cwd: folder, env, encoding: 'utf8' });
    expect(stdout.trim().split('\n')).toEqual(HOSTILE);
    expect(existsSync(path.join(folder, 'pwned'))).toBe(false);
  });

  test('so are names of files where the shell cannot complete them itself', () => {
    writeFileSync(path.join(folder, '$(touch pwned)'), '');
    const script = `eval "$(everwire completion bash)"; compopt() { return 1; }
      COMP_LINE='everwire call --config $'; COMP_POINT=\${#COMP_LINE}; _everwire
      eval "words=(\${COMPREPLY[*]})"; printf '%s\\n' "\${words[@]}"`;
    const { stdout } = spawnSync('bash', ['--norc', '-c', script], { cwd: folder, env, encoding: 'utf8' });
    expect(stdout.trim()).toBe('$(touch pwned)');
    expect(existsSync(path.join(folder, 'pwned'))).toBe(false);
  });
});

test.runIf(findShell('bash'))('names of files below ~ are completed where bash cannot do it itself', () => {
  writeFileSync(path.join(folder, 'my file.json'), '');
  const script = `eval "$(everwire completion bash)"; compopt() { return 1; }
    COMP_LINE='everwire call --config ~/my'; COMP_POINT=\${#COMP_LINE}; _everwire
    eval "words=(\${COMPREPLY[*]})"; printf '%s\\n' "\${words[@]}"`;
  const home = { ...env, HOME: folder };
  const { stdout } = spawnSync('bash', ['--norc', '-c', script], { cwd: folder, env: home, encoding: 'utf8' });
  expect(stdout.trim()).toBe(path.join(folder, 'my file.json'));
});

describe.runIf(findShell('pwsh'))('hostile names in PowerShell', () => {
  test('are one word each, and run nothing', () => {
    withHostileNames();
    const script = `everwire completion powershell | Out-String | Invoke-Expression
      (TabExpansion2 'everwire call ' 14).CompletionMatches | ForEach-Object { Invoke-Expression "Write-Output $($_.CompletionText)" }`;
    const { stdout } = spawnSync('pwsh', ['-NoProfile', '-Command', script], { cwd: folder, env, encoding: 'utf8' });
    expect(stdout.trim().split(/\r?\n/)).toEqual(HOSTILE);
    expect(existsSync(path.join(folder, 'pwned'))).toBe(false);
  });
});

test('the script for PowerShell doubles all quotes that end a text in single quotes', () => {
  const { stdout } = spawnSync('everwire', ['completion', 'powershell'], { cwd: folder, env, encoding: 'utf8' });
  const [, quotes] = /-replace "(\[.*?\])", '\$0\$0'/.exec(stdout)!;
  const [, bare] = /-match '(\^.*?\$)'/.exec(stdout)!;
  // Patterns of .NET mean the same here.
  expect("'\u2018\u2019\u201a\u201b".replaceAll(new RegExp(quotes!, 'g'), '')).toBe('');
  expect(HOSTILE.filter((name) => new RegExp(bare!).test(name))).toEqual([]);
});

test('an unknown shell is an error', async () => {
  const { code, stderr } = await runEverwire(['completion', 'tcsh']);
  expect(code).toBe(2);
  expect(stderr).toMatch(/Allowed choices are bash, zsh, fish, powershell/);
});

test('each script asks for suggestions', async () => {
  for (const shell of ['bash', 'zsh', 'fish', 'powershell']) {
    const { code, stdout, stderr } = await runEverwire(['completion', shell]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/everwire completion suggest '?--'? /);
  }
});
