import type { ClientFlags } from './client-options.ts';
import type { Work } from './with-client.ts';
import { ExitCode, Failure } from './failure.ts';
import { printStatus } from './print-status.ts';
import { indented, oneLine } from './screen.ts';
import { readJson } from './json-value.ts';
import { suggestion } from '../base/nearest.ts';
import { checkArguments, toolArguments } from './tool-arguments.ts';

export interface CallFlags extends ClientFlags {
  /** JSON, `@file` or `-` for stdin. */
  readonly argsJson?: string;
}

/** `everwire call`: calls a tool. The tool's schema decides the types of the arguments. */
export async function call([name, ...args]: readonly string[], flags: CallFlags): Promise<Work> {
  if (name === undefined) throw Failure.usage('the name of a tool is missing; see everwire list');
  if (flags.argsJson === '-' && flags.answers === '-')
    throw Failure.usage('--args-json and --answers cannot both read stdin');
  const base = flags.argsJson === undefined ? {} : await readJson('--args-json', 'arguments', flags.argsJson);
  return async ({ client, output, terminal, signal }) => {
    const tools = await client.listTools({ signal });
    const tool = tools.find((each) => each.name === name);
    if (!tool) {
      const names = tools.map((each) => each.name);
      throw Failure.usage(`the server has no tool ${JSON.stringify(name)}${hint(name, names)}`);
    }
    const given = toolArguments(tool, args, base);
    await checkArguments(tool, given, (message) => printStatus(oneLine(message)));
    const onprogress = (progress: { progress: number }): void => terminal.progress(progress);
    const result = await client
      .callTool(name, given, { signal, onprogress, onstatus: (task) => terminal.status(task) })
      .finally(() => terminal.done());
    if (output.json) {
      await output.value(result);
    } else if (result.isError) {
      const text = result.content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n');
      terminal.print(`everwire: ${name} failed: ${indented(text)}`);
    } else {
      for (const block of result.content) await output.block(block);
      const { structuredContent } = result;
      if (result.content.length === 0 && structuredContent !== undefined) await output.value(structuredContent);
    }
    return result.isError ? ExitCode.Refused : ExitCode.Ok;
  };
}

/** Behind a bridge of several servers, a name begins with its server's name, unless the tool was renamed. */
function hint(name: string, names: readonly string[]): string {
  const similar = suggestion(name, names);
  if (similar !== '') return similar;
  const same = names.find((each) => each.endsWith(`_${name}`) || name.endsWith(`_${each}`));
  return same === undefined ? '; see everwire list' : ` (did you mean ${JSON.stringify(same)}?)`;
}
