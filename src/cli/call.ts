import { FleetMeta } from '../bridge/fleet/ids.ts';
import { labelOf } from '../bridge/fleet/names.ts';
import type { Client } from '../client/client.ts';
import { isObject, isStrings } from '../jsonrpc/message.ts';
import { Method } from '../protocol/methods.ts';
import type { ClientFlags } from './client-options.ts';
import type { Work } from './with-client.ts';
import { ExitCode, Failure } from './failure.ts';
import { printStatus } from './print-status.ts';
import { indented, oneLine } from './screen.ts';
import { readJson } from './json-value.ts';
import { suggestion } from '../base/nearest.ts';
import { checkArguments, toolArguments, type NamedTool } from './tool-arguments.ts';

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
    let tool: NamedTool | undefined = tools.find((each) => each.name === name);
    // The server that should have the tool did not list it. The call shows why.
    if (!tool && (await isOfMissingServer(name, client, signal))) tool = { name, inputSchema: { type: 'object' } };
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

/** Whether a bridge says that entries of a server are missing in its list, and the name begins with this server's name. */
async function isOfMissingServer(name: string, client: Client, signal: AbortSignal): Promise<boolean> {
  const { _meta: meta } = await client.request(Method.ListTools, {}, { signal });
  const missing: unknown = isObject(meta) ? meta[FleetMeta.Missing] : undefined;
  const words = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  return isStrings(missing) && missing.some((server) => words.startsWith(`${labelOf(server)}-`));
}

/** Behind a bridge of several servers, a name begins with its server's name, unless the tool was renamed. */
function hint(name: string, names: readonly string[]): string {
  const similar = suggestion(name, names);
  if (similar !== '') return similar;
  const same = names.find((each) => each.endsWith(`_${name}`) || name.endsWith(`_${each}`));
  return same === undefined ? '; see everwire list' : ` (did you mean ${JSON.stringify(same)}?)`;
}
