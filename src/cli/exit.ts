import { OAuthError } from '../auth/client/oauth-error.ts';
import { ConnectionError, TimeoutError } from '../client/errors.ts';
import { errorChain } from '../jsonrpc/error-chain.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { McpErrorCode } from '../protocol/errors.ts';
import { ExitCode, Failure } from './failure.ts';

/** The user or the system ended the command. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/**
 * Converts the error of a failed command to a message and an exit code.
 *
 * @param connected whether the server had been reached before.
 */
export function failureOf(error: unknown, connected: boolean): Failure {
  if (error instanceof Failure) return error;
  const { message } = RpcError.from(error);
  const chain = [...errorChain(error)];
  const failed = (code: ExitCode, text: string): Failure => new Failure(code, text, { cause: error });
  if (chain.some((cause) => cause instanceof Interrupted)) return failed(ExitCode.Interrupted, 'interrupted');
  // Many servers expect a token, and say only 401.
  const unregistered = chain.some((cause) => cause instanceof OAuthError && cause.code === 'registration');
  const advice = unregistered ? '. If the server expects a token instead of a login, add it with --header' : '';
  if (chain.some(isRefusal)) return failed(ExitCode.Unauthorized, message + advice);
  if (chain.some((cause) => cause instanceof TimeoutError)) return failed(ExitCode.Timeout, message);
  if (!connected || chain.some((cause) => cause instanceof ConnectionError))
    return failed(ExitCode.Unreachable, message);
  if (!(error instanceof RpcError)) return failed(ExitCode.Refused, message);
  const text = `the server answered with an error: ${message} (${error.code})`;
  return error.code === McpErrorCode.MissingRequiredClientCapability
    ? failed(
        ExitCode.Refused,
        `${text}; the server asks questions: run the command on a terminal, or give the answers with --answers`,
      )
    : failed(ExitCode.Refused, text);
}

/** Whether a server required a credential, or no token could be obtained. */
function isRefusal(error: Error): boolean {
  const { status } = error as { status?: unknown };
  return error instanceof OAuthError || status === 401 || status === 403;
}
