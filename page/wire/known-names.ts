import type { WireRecord } from './wire-record.ts';

/** The names that a filter can ask for, by its keys. */
export type KnownNames = Readonly<Record<'method' | 'tool' | 'header', Set<string>>>;

/** The most names of one kind. */
const MAX_NAMES = 500;

export function noNames(): KnownNames {
  return { method: new Set(), tool: new Set(), header: new Set() };
}

/** Adds the names in a record. @param text of its bytes. */
export function addNames(
  names: KnownNames,
  { layer, method, spans }: WireRecord,
  text: () => string | undefined,
): void {
  if (method !== undefined) addName(names.method, method);
  for (const { tool } of spans) if (tool !== undefined) addName(names.tool, tool);
  if (layer !== 'head' || names.header.size >= MAX_NAMES) return;
  for (const [, name] of (text() ?? '').matchAll(/\n([!#$%&'*+.^_`|~\w-]+):/g))
    addName(names.header, name!.toLowerCase());
}

function addName(names: Set<string>, name: string): void {
  if (names.size < MAX_NAMES) names.add(name);
}
