import type { Prompt } from '../protocol/types.ts';
import type { ClientFlags } from './client-options.ts';
import { withClient } from './with-client.ts';
import { ExitCode, Failure } from './failure.ts';
import { suggestion } from '../base/nearest.ts';
import { pairs } from './pairs.ts';
import { wordsOf } from './screen.ts';
import { takeTarget, type SplitWords } from './take-target.ts';

/** `everwire prompt`: prints a prompt with its arguments filled in. */
export async function prompt(words: SplitWords, flags: ClientFlags): Promise<void> {
  const { target, rest } = takeTarget(words, flags);
  const [name, ...args] = rest;
  if (name === undefined) throw Failure.usage('the name of a prompt is missing; see everwire list');
  const given = pairs(args);
  return withClient(target, flags, async ({ client, output, limits }) => {
    const prompts = await client.listPrompts(limits);
    const found = prompts.find((each) => each.name === name);
    if (!found) {
      const names = prompts.map((each) => each.name);
      throw Failure.usage(`the server has no prompt ${JSON.stringify(name)}${suggestion(name, names)}`);
    }
    checkPairs(found, given);
    const result = await client.getPrompt(name, Object.fromEntries(given), limits);
    if (output.json) {
      await output.value(result);
      return ExitCode.Ok;
    }
    for (const { role, content } of result.messages) {
      await output.text(`${wordsOf(role)}:`);
      await output.block(content);
    }
    return ExitCode.Ok;
  });
}

/** @throws Failure with code 2 that names the missing or unknown argument, and lists the prompt's arguments. */
export function checkPairs({ name, arguments: known }: Prompt, given: ReadonlyMap<string, string>): void {
  const args = known ?? [];
  const wanted =
    args.map((each) => (each.required ? `${each.name} (required)` : each.name)).join(', ') || 'no arguments';
  const names = args.map((each) => each.name);
  const unknown = [...given.keys()].find((key) => !names.includes(key));
  if (unknown !== undefined) {
    throw Failure.usage(
      `${name} has no argument ${JSON.stringify(unknown)}${suggestion(unknown, names)}. ${name} takes ${wanted}`,
    );
  }
  const missing = args.find((each) => each.required && !given.has(each.name));
  if (missing) throw Failure.usage(`${name} needs the argument ${missing.name}. ${name} takes ${wanted}`);
}
