/**
 * The approximate length of a value as JSON, in characters, without writing it. Not recursive, because values may be
 * nested very deeply.
 *
 * @param limit where to stop counting.
 */
export function sizeOf(params: object, limit = Infinity): number {
  const values: unknown[] = [params];
  let size = 0;
  while (values.length > 0 && size <= limit) {
    const value = values.pop();
    size += typeof value === 'string' ? value.length : 8;
    if (typeof value !== 'object' || value === null) continue;
    if (Array.isArray(value)) {
      for (const inner of value as unknown[]) values.push(inner);
      continue;
    }
    for (const [key, inner] of Object.entries(value)) {
      size += key.length;
      values.push(inner);
    }
  }
  return size;
}
