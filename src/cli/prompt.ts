import type { Prompt } from '../protocol/types.ts';
import type { Work } from './with-client.ts';
import { Failure } from './failure.ts';
import { suggestion } from '../base/nearest.ts';
import { pairs } from './pairs.ts';
import { wordsOf } from './screen.ts';

/** `everwire prompt`: prints a prompt with its arguments filled in. */
export function prompt([name, ...args]: readonly string[]): Work {
  if (name === undefined) throw Failure.usage('the name of a prompt is missing; see everwire list');
  const given = pairs(args);
  return async ({ client, output, signal }) => {
    const prompts = await client.listPrompts({ signal });
    const found = prompts.find((each) => each.name === name);
    if (!found) {
      const names = prompts.map((each) => each.name);
      throw Failure.usage(`the server has no prompt ${JSON.stringify(name)}${suggestion(name, names)}`);
    }
    checkPairs(found, given);
    const result = await client.getPrompt(name, Object.fromEntries(given), { signal });
    if (output.json) return output.value(result);
    for (const { role, content } of result.messages) {
      await output.line(`${wordsOf(role)}:`);
      await output.block(content);
    }
  };
}

/** @throws Failure with code 2 that names the missing or unknown argument, and lists the prompt's arguments. */
function checkPairs({ name, arguments: known }: Prompt, given: ReadonlyMap<string, string>): void {
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
