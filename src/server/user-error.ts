/** A marker that all copies of this package in a process share: a bundle may contain its own copy. */
const BRAND = Symbol.for('everwire.UserError');

/**
 * An error with a message for the caller: for the model that called a tool, or the client that requested a prompt or a
 * resource. Messages of other errors stay on the server (see `McpServerOptions.exposeErrors`).
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
