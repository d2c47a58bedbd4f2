import { changesOf } from '../ui/text-cost.ts';

/** How many parts of a content are shown at once. */
const MAX_PARTS = 100;
/** How much the parts of a portion may say, in characters. A browser needs a quarter of a second for twice as much. */
const PORTION_SIZE = 100_000;
/** What each value counts, because it may become several elements. Characters. */
const VALUE_SIZE = 100;
/** What each change of script counts. A browser needs as long as for this many characters more. */
const CHANGE = 10;

/** How many parts of a content, after the first `from`, are shown at once: few large ones, but at least one. */
export function contentPortion(parts: readonly unknown[], from: number): number {
  let room = PORTION_SIZE;
  const portion = parts.slice(from, from + MAX_PARTS);
  const end = portion.findIndex((part) => (room = roomAfter(part, room)) < 0);
  return end === -1 ? portion.length : Math.max(end, 1);
}

/** What is left of the room after a value, or less than nothing. */
function roomAfter(value: unknown, before: number): number {
  let room = before - VALUE_SIZE;
  if (typeof value === 'string') return room - value.length - CHANGE * changesOf(value.slice(0, PORTION_SIZE));
  if (typeof value !== 'object' || value === null) return room;
  for (const [name, member] of Object.entries(value)) {
    // Bytes are not shown as text.
    if (name !== 'data' && name !== 'blob') room = roomAfter(member, room);
    if (room < 0) break;
  }
  return room;
}
