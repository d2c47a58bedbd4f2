import type { ErrorObject } from './message.ts';

/** The codes of JSON-RPC 2.0, section 5.1. */
export const ErrorCode = {
  ParseError: -32700,
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
} as const;

/** An error that travels as a JSON-RPC error object: thrown on one side, rejected with on the other. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, options: { data?: unknown; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.data = options.data;
  }

  /**
   * Normalises whatever was thrown. An error that is no `RpcError` (or does not have the shape of one,
   * as the official SDK's errors do) becomes an internal error with its message.
   */
  static from(thrown: unknown): RpcError {
    if (thrown instanceof RpcError) return thrown;
    if (thrown instanceof Error) {
      const { code, data } = thrown as { code?: unknown; data?: unknown };
      // The numbers of a DOMException (an aborted fetch) are no codes of JSON-RPC.
      const known = typeof code === 'number' && Number.isInteger(code) && !(thrown instanceof DOMException);
      return new RpcError(known ? code : ErrorCode.InternalError, thrown.message || thrown.name, {
        data: known ? data : undefined,
        cause: thrown,
      });
    }
    return new RpcError(ErrorCode.InternalError, String(thrown), { cause: thrown });
  }

  /** The error that the peer sent. */
  static fromObject(error: ErrorObject): RpcError {
    return new RpcError(error.code, error.message, { data: error.data });
  }

  toObject(): ErrorObject {
    return this.data === undefined
      ? { code: this.code, message: this.message }
      : { code: this.code, message: this.message, data: this.data };
  }
}
