import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

interface Workflow {
  readonly on: object;
  readonly permissions: object;
  readonly jobs: Record<string, Job>;
}

interface Job {
  readonly 'runs-on': string;
  readonly strategy?: { readonly matrix: object };
  readonly permissions?: object;
  readonly steps: readonly { run?: string }[];
}

const read = (name: string): Workflow => parse(readFileSync(`.github/workflows/${name}.yml`, 'utf8')) as Workflow;
const commands = ({ jobs }: Workflow): string =>
  Object.values(jobs)
    .flatMap(({ steps }) => steps.map(({ run = '' }) => run))
    .join('\n');

test('every change passes all checks on Linux and all tests on Windows and macOS, with all supported versions of Node', () => {
  const workflow = read('ci');
  expect(Object.keys(workflow.on)).toEqual(['push', 'pull_request']);
  expect(workflow.permissions).toEqual({ contents: 'read' });
  const { checks, systems } = workflow.jobs;
  expect(checks!.steps.at(-1)!.run).toBe('bash .ci/run');
  expect(systems!.steps.at(-1)!.run).toBe('npm test');
  const node = ['20.19', '22', '24'];
  expect(checks!.strategy!.matrix).toEqual({ node });
  expect(systems!.strategy!.matrix).toEqual({ os: ['windows-latest', 'macos-latest'], node });
});

test('a person starts a release, which can prove where it comes from', () => {
  const workflow = read('release');
  expect(Object.keys(workflow.on)).toEqual(['workflow_dispatch']);
  expect(workflow.jobs['release']!.permissions).toEqual({ contents: 'write', 'id-token': 'write' });
  expect(commands(workflow)).toContain('npm run release -- "$VERSION" $DRY_RUN');
  // An input in a command could contain other commands.
  expect(commands(workflow)).not.toContain('${{');
});
