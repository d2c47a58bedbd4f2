import { define } from '../../base/define.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { Meta } from '../../protocol/methods.ts';
import { LEGACY_REVISIONS, MODERN_REVISIONS } from '../../protocol/revisions.ts';
import type { Implementation } from '../../protocol/types.ts';
import { FleetMeta } from './ids.ts';
import type { FleetMember } from './members.ts';
import type { Naming } from './names.ts';
import { hintsIn, hintsOf } from './page.ts';
import { validCapabilities } from './valid.ts';

/** Below this depth, a capability is taken from the first server that has it. */
const MAX_DEPTH = 8;
/** The capabilities that have lists, each in full. */
export const LIST_CAPABILITIES: JsonObject = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
};
/** The assumed capabilities of a server that does not respond. */
const UNKNOWN: JsonObject = { ...LIST_CAPABILITIES, logging: {}, completions: {} };

/** A server, and its description: undefined if it does not respond. */
export interface MemberDescription {
  readonly member: FleetMember;
  readonly description: JsonObject | undefined;
}

/**
 * Describes all servers as one (2026-07-28, server/discover), with the capabilities of all of them.
 *
 * @param own capabilities that the fleet always has.
 */
export function describeTogether(
  described: readonly MemberDescription[],
  { bare }: Naming,
  own: JsonObject,
  serverInfo: Implementation,
): JsonObject {
  let capabilities = own;
  for (const { member, description } of described) {
    const theirs = description ? description['capabilities'] : UNKNOWN;
    if (!isObject(theirs)) continue;
    capabilities = unite(
      capabilities,
      bare ? theirs : validCapabilities(theirs, (what) => member.warn(what, 'malformed capabilities')),
    );
  }
  // The fleet itself announces list changes, for example when a server is reachable again.
  for (const capability of Object.keys(LIST_CAPABILITIES))
    if (isObject(capabilities[capability]))
      capabilities = { ...capabilities, [capability]: { ...capabilities[capability], listChanged: true } };
  const missing = described.filter(({ description }) => !description).map(({ member }) => member.name);
  const instructions = mergedInstructions(described);
  return {
    supportedVersions: [...MODERN_REVISIONS, ...LEGACY_REVISIONS.toReversed()],
    capabilities,
    ...(instructions === undefined ? {} : { instructions }),
    ...(missing.length > 0 ? {} : hintsOf(described.map(({ description }) => hintsIn(description ?? {})))),
    _meta: {
      [Meta.ServerInfo]: serverInfo,
      ...(missing.length === 0 ? {} : { [FleetMeta.Missing]: missing }),
    },
  };
}

/** Merges the capabilities of two servers. */
function unite(one: JsonObject, other: JsonObject, depth = 1): JsonObject {
  const united = { ...one };
  for (const [key, value] of Object.entries<unknown>(other)) {
    const known: unknown = Object.hasOwn(united, key) ? united[key] : undefined;
    if (isObject(known) && isObject(value) && depth < MAX_DEPTH) united[key] = unite(known, value, depth + 1);
    else if (known === undefined || known === false) define(united, key, value);
  }
  return united;
}

/** The instructions of all servers, each under its name. */
function mergedInstructions(described: readonly MemberDescription[]): string | undefined {
  const merged: string[] = [];
  for (const { member, description } of described) {
    const instructions: unknown = description?.['instructions'];
    if (typeof instructions === 'string' && instructions.trim() !== '')
      merged.push(`# ${member.name}\n\n${instructions.trim()}`);
  }
  return merged.length === 0 ? undefined : merged.join('\n\n');
}
