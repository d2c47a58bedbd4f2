import { nextTurn } from '../../base/wait.ts';
import { keysAndValuesIn } from '../../jsonrpc/bounds.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { weightOf } from '../../jsonrpc/weight.ts';

/** Pages of this weight together fit into one message, however their text is escaped. */
const SMALL = 2 * 1024 * 1024;
/** What a client accepts in one message (`MAX_MESSAGE_BYTES`, `parseJson`), with room for the rest of the message. */
const MAX_BYTES = 15 * 1024 * 1024;
const MAX_KEYS_AND_VALUES = 190_000;

interface Size {
  readonly bytes: number;
  readonly keysAndValues: number;
}

/**
 * Divides pages into those that fit into one message together, and those that do not: the largest ones. Otherwise, one
 * server with a very large page could make clients refuse the lists of all servers.
 */
export async function inOneMessage<T extends { readonly page: { readonly entries: readonly JsonObject[] } }>(
  pages: readonly T[],
): Promise<[fitting: readonly T[], tooLarge: readonly T[]]> {
  const entries = pages.map(({ page }) => page.entries);
  if (weightOf(entries, SMALL) <= SMALL) return [pages, []];
  const sizes: (Size & { page: T })[] = [];
  for (const page of pages) {
    sizes.push({ page, ...sizeOf(page.page.entries) });
    await nextTurn();
  }
  const tooLarge = new Set<T>();
  let bytes = sizes.reduce((sum, size) => sum + size.bytes, 0);
  let keysAndValues = sizes.reduce((sum, size) => sum + size.keysAndValues, 0);
  for (const size of sizes.toSorted((one, other) => share(other) - share(one))) {
    if (bytes <= MAX_BYTES && keysAndValues <= MAX_KEYS_AND_VALUES) break;
    tooLarge.add(size.page);
    bytes -= size.bytes;
    keysAndValues -= size.keysAndValues;
  }
  return [pages.filter((page) => !tooLarge.has(page)), [...tooLarge]];
}

/** How much of a message something takes. */
function share({ bytes, keysAndValues }: Size): number {
  return Math.max(bytes / MAX_BYTES, keysAndValues / MAX_KEYS_AND_VALUES);
}

function sizeOf(entries: readonly JsonObject[]): Size {
  const text = JSON.stringify(entries);
  return { bytes: Buffer.byteLength(text), keysAndValues: keysAndValuesIn(text) };
}
