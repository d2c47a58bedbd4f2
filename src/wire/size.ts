import type { JsonObject } from '../jsonrpc/message.ts';

/** About how many characters it has as JSON, without writing it. Not recursive: it may be nested very deeply. */
export function sizeOf(params: JsonObject): number {
  const values: unknown[] = [params];
  let size = 0;
  while (values.length > 0) {
    const value = values.pop();
    size += typeof value === 'string' ? value.length : 8;
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, inner] of Object.entries(value)) {
      size += key.length;
      values.push(inner);
    }
  }
  return size;
}
