import { isObject } from '../jsonrpc/message.ts';
import { Meta } from '../protocol/methods.ts';
import type { Work } from './with-client.ts';
import { Failure } from './failure.ts';
import { wordsOf } from './screen.ts';

/** `everwire discover`: shows a server's identity, revisions and capabilities. */
export function discover(rest: readonly string[]): Work {
  if (rest.length > 0) throw Failure.usage('discover takes only a target');
  return async ({ client, output, signal }) => {
    const discovered = await client.discover({ signal });
    const { revision } = client;
    if (output.json) return output.value({ revision, ...discovered });
    const { supportedVersions, capabilities, instructions, _meta: meta } = discovered;
    const info: unknown = meta?.[Meta.ServerInfo];
    const { name, title, version } = isObject(info) ? info : {};
    await output.table([
      ['server', [title ?? name, version].map(wordsOf).filter(Boolean).join(' ')],
      ['supported', supportedVersions.map(wordsOf).join(', ')],
      ['in use', revision],
      ...Object.entries(capabilities).map(([capability, details]) => [capability, detailsOf(details)]),
    ]);
    if (instructions !== undefined) await output.text(`\n${wordsOf(instructions)}`);
  };
}

/** The options of a capability: `listChanged, subscribe`. */
function detailsOf(details: unknown): string {
  const names = isObject(details) ? Object.entries(details).filter(([, value]) => value !== false) : [];
  return names.length === 0 ? 'yes' : names.map(([name]) => name).join(', ');
}
