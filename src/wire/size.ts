/**
 * About how many characters it has as JSON, without writing it. Not recursive: it may be nested very deeply.
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
