import type { AllowedCall } from '../check/server.ts';
import { Failure } from './failure.ts';
import { readJson } from './json-value.ts';

/** A value of `--call`. @throws Failure with code 2 */
export async function readCall(text: string): Promise<AllowedCall> {
  const [, tool, value] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  if (tool === undefined || value === undefined)
    throw Failure.usage(
      `--call must be written 'tool={"name":"value"}' or tool=file.json, and not ${JSON.stringify(text)}`,
    );
  const args = await readJson('--call', 'arguments', value.startsWith('{') ? value : `@${value}`);
  return { tool, args };
}
