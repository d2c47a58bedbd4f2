/** A command of the page was refused. Nothing was sent. */
export class CommandRefused extends Error {
  override readonly name = 'CommandRefused';
  /** 400: the command is malformed. 409: it cannot run now. */
  readonly status: 400 | 409;

  constructor(status: 400 | 409, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}
