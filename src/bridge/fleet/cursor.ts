import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { MAX_CURSOR } from './walk.ts';

/** A place in a list of all servers. */
export interface Position {
  /** The label of the server whose page is next. */
  readonly member: string;
  /** Its own cursor; undefined for its first page. */
  readonly cursor: string | undefined;
}

/** The cursor that leads to a place. */
export function cursorOf({ member, cursor }: Position): string {
  return Buffer.from(JSON.stringify(cursor === undefined ? [member] : [member, cursor])).toString('base64url');
}

/** Where a cursor leads. @throws RpcError −32602 where it is none of ours. */
export function positionOf(cursor: unknown): Position {
  // Base64 is a third longer, and escapes make six characters of one.
  if (typeof cursor !== 'string' || cursor.length > MAX_CURSOR * 9) throw invalidCursor();
  try {
    const position: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Array.isArray(position) && position.length <= 2 && position.every((part) => typeof part === 'string')) {
      const [member, own] = position as [string, string?];
      return { member, cursor: own };
    }
  } catch {
    // It is none of ours.
  }
  throw invalidCursor();
}

/** Why a cursor that leads nowhere is refused. */
export function invalidCursor(): RpcError {
  return new RpcError(ErrorCode.InvalidParams, 'Invalid cursor: read the list anew from its first page');
}
