/** How many bytes a `ByteRange` has. */
export function sizeOf(range: readonly number[]): number {
  let size = 0;
  for (let at = 1; at < range.length; at += 2) size += range[at]! - range[at - 1]!;
  return size;
}
