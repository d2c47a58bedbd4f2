import { isObject } from '../jsonrpc/message.ts';
import { Meta } from '../protocol/methods.ts';
import type { ClientFlags } from './client-options.ts';
import { withClient } from './with-client.ts';
import { ExitCode, Failure } from './failure.ts';
import { wordsOf } from './screen.ts';
import { takeTarget, type SplitWords } from './take-target.ts';

/** `everwire discover`: shows a server's identity, revisions and capabilities. */
export async function discover(words: SplitWords, flags: ClientFlags): Promise<void> {
  const { target, rest } = takeTarget(words, flags);
  if (rest.length > 0) throw Failure.usage('discover takes only a target');
  return withClient(target, flags, async ({ client, output, limits }) => {
    const discovered = await client.discover(limits);
    const { revision } = client;
    if (output.json) {
      await output.value({ revision, ...discovered });
      return ExitCode.Ok;
    }
    const { supportedVersions, capabilities, instructions, _meta: meta } = discovered;
    const info: unknown = meta?.[Meta.ServerInfo];
    const { name, title, version } = isObject(info) ? info : {};
    await output.table([
      ['server', [title ?? name, version].map(wordsOf).filter(Boolean).join(' ')],
      ['speaks', supportedVersions.map(wordsOf).join(', ')],
      ['spoken', revision],
      ...Object.entries(capabilities).map(([capability, details]) => [capability, detailsOf(details)]),
    ]);
    if (instructions !== undefined) await output.text(`\n${wordsOf(instructions)}`);
    return ExitCode.Ok;
  });
}

/** The options of a capability: `listChanged, subscribe`. */
function detailsOf(details: unknown): string {
  const names = isObject(details) ? Object.entries(details).filter(([, value]) => value !== false) : [];
  return names.length === 0 ? 'yes' : names.map(([name]) => name).join(', ');
}
