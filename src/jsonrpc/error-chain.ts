/** How many errors of a chain are looked at. */
const MAX_LENGTH = 8;

/** An error, its cause, the cause of that and so on: the first eight. Empty for what is no error. */
export function* errorChain(error: unknown): Generator<Error, void, undefined> {
  let each = error;
  for (let length = 0; length < MAX_LENGTH && each instanceof Error; length += 1) {
    yield each;
    each = each.cause;
  }
}

/** Why a request failed on its way to the server and back, and whether the server can have executed it. */
export interface TransportFailure extends Error {
  /** Whether the request was certainly not executed. Where false, it may have been. */
  readonly notExecuted: boolean;
}

/**
 * The first error of the chain that knows whether the request was executed. The first decides: a lost answer stays lost,
 * whatever failed when it was fetched again.
 */
export function transportFailure(error: unknown): TransportFailure | undefined {
  for (const each of errorChain(error)) {
    if ('notExecuted' in each && typeof each.notExecuted === 'boolean') return each as TransportFailure;
  }
  return undefined;
}

/** Whether an error says that the request was certainly not executed, so that any request can be sent again. */
export function certainlyNotExecuted(error: unknown): boolean {
  return transportFailure(error)?.notExecuted === true;
}
