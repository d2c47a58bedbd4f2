/**
 * An error of a handler whose message is for the caller: for the model that called a tool, for the client that asked for a
 * prompt or a resource. Messages of other errors stay on the server (`McpServerOptions.exposeErrors`).
 */
export class UserError extends Error {
  override readonly name = 'UserError';
}
