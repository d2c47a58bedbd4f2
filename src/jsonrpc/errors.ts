import type { ErrorObject } from './message.ts';

/** The codes of JSON-RPC 2.0, section 5.1. */
export const ErrorCode = {
  ParseError: -32700,
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
} as const;

/** The errors of JSON-RPC: another copy of ours, and those of the official SDKs, version 1 and 2. */
const NAMES: ReadonlySet<string> = new Set(['RpcError', 'McpError', 'ProtocolError']);

/** Whether an error is one of JSON-RPC: ours, another copy of it, or one of the official SDKs. */
export function isRpcError(error: unknown): error is Error {
  return error instanceof RpcError || (error instanceof Error && NAMES.has(error.name));
}

/** Whether a code is meant for the peer: errors of databases, HTTP clients and the like have numbers of their own. */
function isCodeOf(error: Error, code: unknown): code is number {
  if (typeof code !== 'number' || !Number.isInteger(code)) return false;
  // The range that JSON-RPC 2.0, section 5.1, reserves.
  return (code >= -32768 && code <= -32000) || NAMES.has(error.name);
}

export interface RpcErrorOptions {
  readonly data?: unknown;
  readonly cause?: unknown;
  readonly origin?: 'peer' | 'local';
}

/** An error that travels as a JSON-RPC error object: thrown on one side, rejected with on the other. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  /** An integer; `ErrorCode` and `McpErrorCode` have the known ones. */
  readonly code: number;
  /** What else there is to say, as JSON. Undefined for nothing. */
  readonly data: unknown;
  /** Who made it: the peer, which sent it, or this side. Both may use the same code and mean different things by it. */
  readonly origin: 'peer' | 'local';

  /**
   * @param message what a person can act on; it is sent to the peer.
   * @param options `data` is sent to the peer, `cause` and `origin` are not. `origin` is `'local'` by default.
   */
  constructor(code: number, message: string, options: RpcErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.data = options.data;
    this.origin = options.origin ?? 'local';
  }

  /**
   * Normalises whatever was thrown. An error keeps its code and data where the code is one that JSON-RPC reserves, or
   * where the error's name is that of an `RpcError` or of the official SDKs' errors. Any other becomes an internal error
   * with its message.
   */
  static from(thrown: unknown): RpcError {
    if (thrown instanceof RpcError) return thrown;
    try {
      if (!(thrown instanceof Error)) return new RpcError(ErrorCode.InternalError, String(thrown), { cause: thrown });
      const { code, data } = thrown as { code?: unknown; data?: unknown };
      const known = isCodeOf(thrown, code);
      return new RpcError(known ? code : ErrorCode.InternalError, thrown.message || thrown.name, {
        data: known ? data : undefined,
        cause: thrown,
      });
    } catch {
      // Some things cannot even be said in words: an object without a prototype, for one.
      return new RpcError(ErrorCode.InternalError, 'Internal error', { cause: thrown });
    }
  }

  /**
   * The error that the peer sent.
   *
   * @param cause what it came with, such as an HTTP status.
   */
  static fromObject({ code, message, data }: ErrorObject, cause?: Error): RpcError {
    return new RpcError(code, message, { data, cause, origin: 'peer' });
  }

  /** What is sent of it. */
  toObject(): ErrorObject {
    return this.data === undefined
      ? { code: this.code, message: this.message }
      : { code: this.code, message: this.message, data: this.data };
  }
}
