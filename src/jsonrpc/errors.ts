import type { ErrorObject } from './message.ts';

/** The codes of JSON-RPC 2.0, section 5.1. */
export const ErrorCode = {
  ParseError: -32700,
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
} as const;

/**
 * Names of JSON-RPC error classes: those of this package (in any copy), and those of the official SDKs, versions 1 and
 * 2.
 */
const NAMES: ReadonlySet<string> = new Set(['RpcError', 'McpError', 'ProtocolError']);

/** Whether an error is a JSON-RPC error: ours, of another copy of this package, or of an official SDK. */
export function isRpcError(error: unknown): error is Error {
  return error instanceof RpcError || (error instanceof Error && NAMES.has(error.name));
}

/** Whether a code is a JSON-RPC code. Errors of databases, HTTP clients and others have their own numbers. */
function isCodeOf(error: Error, code: unknown): code is number {
  if (!Number.isInteger(code)) return false;
  // The range that JSON-RPC 2.0, section 5.1, reserves.
  return ((code as number) >= -32768 && (code as number) <= -32000) || NAMES.has(error.name);
}

/** Options of an `RpcError`, in addition to its code and message. */
export interface RpcErrorOptions {
  /** Sent to the peer as the error's `data`. */
  readonly data?: unknown;
  /** The cause of the error. Never sent. */
  readonly cause?: unknown;
  /** Which side made the error. Default `'local'`. */
  readonly origin?: 'peer' | 'local';
}

/**
 * An error that is sent as a JSON-RPC error object. One side throws it, and the call on the other side rejects with it.
 */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  /** An integer; `ErrorCode` and `McpErrorCode` have the known ones. */
  readonly code: number;
  /** Additional data as JSON, or undefined. */
  readonly data: unknown;
  /** Whether the peer or this side created it. Both may use the same code with different meanings. */
  readonly origin: 'peer' | 'local';

  /**
   * @param message says what to do about the error. It is sent to the peer.
   * @param options `data` is sent to the peer, `cause` and `origin` are not. `origin` is `'local'` by default.
   * @throws TypeError if the code is no integer: no peer would accept the response, and the call would have no answer.
   */
  constructor(code: number, message: string, options: RpcErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : options);
    if (!Number.isInteger(code)) {
      throw new TypeError(`The code of an RpcError must be an integer, not ${String(code)}: ${message}`);
    }
    this.code = code;
    this.data = options.data;
    this.origin = options.origin ?? 'local';
  }

  /**
   * Converts any thrown value. An error keeps its code and data if JSON-RPC reserves the code, or if its class is an
   * `RpcError` or an error of the official SDKs, by name. Any other value becomes an internal error with its message.
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
      // Some values cannot be converted to a string, for example an object without a prototype.
      return new RpcError(ErrorCode.InternalError, 'Internal error', { cause: thrown });
    }
  }

  /**
   * Creates an error from the peer's error object.
   *
   * @param cause the context of the error, such as an HTTP status.
   */
  static fromObject({ code, message, data }: ErrorObject, cause?: Error): RpcError {
    return new RpcError(code, message, { data, cause, origin: 'peer' });
  }

  /** The error object to send. */
  toObject(): ErrorObject {
    return this.data === undefined
      ? { code: this.code, message: this.message }
      : { code: this.code, message: this.message, data: this.data };
  }
}
