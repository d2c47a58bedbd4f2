import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';

/**
 * One page of a list, as the result of a list request (2025-11-25, server/utilities/pagination). The cursor is opaque to
 * clients; it holds the position at which the next page starts. Every page carries the same `hints`
 * (2026-07-28, server/utilities/caching: Interaction with Pagination).
 *
 * @throws RpcError −32602 if the cursor is invalid.
 */
export function page(
  name: string,
  items: readonly unknown[],
  cursor: unknown,
  size: number,
  hints: JsonObject,
): JsonObject {
  const start = cursor === undefined ? 0 : positionOf(cursor);
  const end = start + size;
  if (start === 0 && items.length <= size) return { [name]: items, ...hints };
  const slice = items.slice(start, end);
  return end < items.length ? { [name]: slice, nextCursor: cursorOf(end), ...hints } : { [name]: slice, ...hints };
}

function cursorOf(position: number): string {
  return Buffer.from(`page:${position}`).toString('base64url');
}

function positionOf(cursor: unknown): number {
  if (typeof cursor === 'string' && cursor.length < 64) {
    const position = Number(/^page:(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1]);
    if (cursorOf(position) === cursor) return position;
  }
  throw new RpcError(ErrorCode.InvalidParams, 'Invalid cursor');
}
