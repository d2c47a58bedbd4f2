import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { programs, startNode, type RunningProcess } from './process.ts';

export const node = process.execPath;
/** The demo server as the target of a command. */
export const demo = ['--', node, ...programs.everwire, 'demo', '--stdio'];
/** The feature server as the target of a command. */
export const features = ['--', node, ...programs.features, '--stdio'];

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts the command line. The process is stopped after the test. */
export function startEverwire(args: readonly string[], env?: NodeJS.ProcessEnv): RunningProcess {
  const child = startNode([...programs.everwire, ...args], env);
  onTestFinished(async () => {
    await child.stop();
  });
  return child;
}

/** Runs the command line until it exits. */
export async function runEverwire(args: readonly string[], stdin = ''): Promise<Outcome> {
  const child = startEverwire(args);
  child.child.stdin!.end(stdin);
  const { code } = await child.exited;
  return { code, stdout: child.stdout.join('\n'), stderr: child.stderr.join('\n') };
}

/** A new folder, which is removed after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'everwire-commands-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}
