/** Marks the errors of every copy of this package in a process: a bundle may have one of its own. */
const BRAND = Symbol.for('everwire.UserError');

/**
 * An error of a handler whose message is for the caller: for the model that called a tool, for the client that asked for a
 * prompt or a resource. Messages of other errors stay on the server (`McpServerOptions.exposeErrors`).
 */
export class UserError extends Error {
  override readonly name = 'UserError';

  static {
    Object.defineProperty(this.prototype, BRAND, { value: true });
  }
}

export function isUserError(thrown: unknown): thrown is UserError {
  return thrown instanceof Error && BRAND in thrown;
}
