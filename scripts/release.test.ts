import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';

const SCRIPT = path.resolve('dist/scripts/release.js');
const NPM =
  process.platform === 'win32' ? '' : execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim();
const IDENTITY = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@b', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@b' };

interface Repository {
  readonly folder: string;
  git(...words: string[]): string;
  /** Runs the script in it. */
  release(...words: string[]): { status: number | null; output: string };
  /** Runs the script as a workflow does. @param npm a script that replaces `npm`, except for `npm pack`. */
  publish(npm: string, ...words: string[]): { status: number | null; output: string };
}

/** A repository with two packages, whose checks print the files of the release. */
function repository(files: Record<string, string> = {}): Repository {
  const folder = mkdtempSync(path.join(tmpdir(), 'everwire-release-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const all = {
    'package.json': '{ "name": "everwire", "version": "0.1.0", "workspaces": ["tools", "packages/create"] }',
    'package-lock.json': '{ "version": "0.1.0", "packages": {} }',
    'tools/package.json': '{ "name": "tools", "version": "0.0.0", "private": true }',
    'packages/create/package.json': '{ "name": "create-everwire", "version": "0.1.0" }',
    'packages/create/template/_package.json': '{ "dependencies": { "everwire": "^0.1.0" } }',
    'CHANGELOG.md': '# Changelog\n\n## Unreleased\n\n- A thing.\n\n## 0.1.0\n\nThe first version.\n',
    'src/version.ts': "export const VERSION = '0.1.0';\n",
    '.ci/run': 'git tag; cat src/version.ts CHANGELOG.md packages/create/template/_package.json\n',
    ...files,
  };
  for (const [file, content] of Object.entries(all)) {
    mkdirSync(path.join(folder, path.dirname(file)), { recursive: true });
    writeFileSync(path.join(folder, file), content);
  }
  const env = { ...process.env, ...IDENTITY, ACTIONS_ID_TOKEN_REQUEST_URL: undefined };
  const git = (...words: string[]): string => execFileSync('git', words, { cwd: folder, encoding: 'utf8', env });
  git('init', '--quiet', '--initial-branch', 'main');
  git('add', '.');
  git('commit', '--quiet', '--message', 'Begin');
  return {
    folder,
    git,
    release: (...words) => run(words, withNpm('echo npm "$@"')),
    publish: (npm, ...words) => run(words, { ...withNpm(npm), ACTIONS_ID_TOKEN_REQUEST_URL: 'https://github.example' }),
  };

  /** Even a dry run of `npm publish` asks the registry. */
  function withNpm(script: string): NodeJS.ProcessEnv {
    const bin = path.join(folder, '.git/bin');
    mkdirSync(bin, { recursive: true });
    const npm = `#!/bin/sh\nif [ "$1" = pack ]; then exec '${NPM}' "$@"; fi\n${script}\n`;
    writeFileSync(path.join(bin, 'npm'), npm, { mode: 0o755 });
    return { ...env, PATH: `${bin}:${process.env['PATH']}` };
  }

  function run(words: string[], variables: NodeJS.ProcessEnv): { status: number | null; output: string } {
    const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT, ...words], {
      cwd: folder,
      encoding: 'utf8',
      env: variables,
    });
    return { status, output: stdout + stderr };
  }
}

// Another `npm` is a shell script.
describe.skipIf(process.platform === 'win32')('a release', () => {
  test('a dry run does everything but publishing, and changes nothing here', () => {
    const { folder, git, release } = repository();
    const { status, output } = release('--dry-run');
    expect(output).toContain("VERSION = '0.2.0'");
    expect(output).toContain('v0.2.0\n');
    expect(output).toContain('## Unreleased\n\n## 0.2.0\n\n- A thing.\n');
    expect(output).toContain('"everwire": "^0.2.0"');
    expect(output).toContain('everwire-0.2.0.tgz');
    expect(output).toContain('create-everwire-0.2.0.tgz');
    expect(output).not.toContain('tools-');
    expect(output).toContain('publish everwire 0.2.0 (dry run)');
    expect(output).toContain('publish create-everwire 0.2.0 (dry run)');
    expect(output.match(/^npm publish --dry-run .*$/gm)).toHaveLength(2);
    expect(output).toContain('nothing was published: this was a dry run of 0.2.0');
    expect(status).toBe(0);
    expect(git('status', '--porcelain') + git('tag')).toBe('');
    expect(readFileSync(path.join(folder, 'package.json'), 'utf8')).toContain('"version": "0.1.0"');
  });

  test('the version can be given', () => {
    expect(repository().release('1.0.0', '--dry-run').output).toContain('this was a dry run of 1.0.0');
  });

  test.each<[string, string[], (each: Repository) => void]>([
    ['there are changes', ['--dry-run'], ({ folder }) => writeFileSync(path.join(folder, 'new'), '')],
    ['switch to main', ['--dry-run'], ({ git }) => void git('checkout', '--quiet', '-b', 'other')],
    ['the tag v0.2.0 exists', ['--dry-run'], ({ git }) => void git('tag', 'v0.2.0')],
    ['0.1.0 is not later', ['0.1.0', '--dry-run'], () => {}],
    ['start the workflow "Release"', [], () => {}],
  ])('it is refused: %s', (message, words, prepare) => {
    const prepared = repository();
    prepare(prepared);
    const { status, output } = prepared.release(...words);
    expect(output).toContain(message);
    expect(status).toBe(1);
  });

  test.skipIf(process.platform === 'win32')(
    'in a workflow, it pushes and publishes, and continues after a failure',
    () => {
      const here = repository();
      const origin = path.join(here.folder, '.git/origin');
      here.git('init', '--quiet', '--bare', origin);
      here.git('remote', 'add', 'origin', origin);
      here.git('push', '--quiet', 'origin', 'main');
      const there = (...words: string[]): string => here.git('--git-dir', origin, ...words);

      const failing = here.publish('case $1 in view) exit 1 ;; publish) echo npm "$@"; pwd; ! [ -d template ] ;; esac');
      expect(failing.output).toContain('npm publish --provenance --ignore-scripts --access public');
      expect(failing.output).toContain('release: npm publish --provenance --ignore-scripts --access public failed');
      expect(failing.status).toBe(1);
      expect(there('log', '--format=%s', 'main').split('\n')[0]).toBe('Release 0.2.0');
      expect(there('show', '--format=%s', 'v0.2.0')).toContain('- A thing.');

      here.git('pull', '--quiet', 'origin', 'main');
      const again = here.publish(
        'case $1$2 in vieweverwire@0.2.0) echo 0.2.0 ;; view*) exit 1 ;; publish*) echo npm "$@" ;; esac',
        '0.2.0',
      );
      expect(again.output).toContain('everwire 0.2.0 was published before');
      expect(again.output.match(/^npm publish/gm)).toHaveLength(1);
      expect(again.output).toContain('0.2.0 is published');
      expect(again.status).toBe(0);
    },
  );

  test('it ends if a check fails', () => {
    const { status, output } = repository({ '.ci/run': 'exit 3\n' }).release('--dry-run');
    expect(output).toContain('bash .ci/run failed');
    expect(output).not.toContain('publish');
    expect(status).toBe(1);
  });

  test('it ends if origin has other commits', () => {
    const there = repository();
    const here = repository();
    here.git('remote', 'add', 'origin', there.folder);
    there.git('commit', '--quiet', '--allow-empty', '--message', 'More');
    expect(here.release('--dry-run').output).toContain('main is not the same as at origin');
  });
});
