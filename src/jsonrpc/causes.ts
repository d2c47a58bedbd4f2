/** Causes of causes that are looked at. */
const MAX_CAUSES = 8;

/** An error and its causes, as far as anybody looks. */
export function* causesOf(error: unknown): Generator<Error, void, undefined> {
  let cause = error;
  for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error; depth += 1) {
    yield cause;
    ({ cause } = cause);
  }
}

/** An error that knows whether the request that failed with it ran. */
export interface Decisive extends Error {
  /** Whether the request certainly did not run. Where false, it may have run. */
  readonly notRun: boolean;
}

/**
 * Of an error and its causes the first that knows whether the request ran: an answer that was lost stays lost, whatever kept
 * it from being fetched again.
 */
export function decisiveOf(error: unknown): Decisive | undefined {
  for (const each of causesOf(error)) if ('notRun' in each && typeof each.notRun === 'boolean') return each as Decisive;
  return undefined;
}

/** Whether an error says that the request certainly did not run, so that it can be sent again whatever it was. */
export function certainlyNotRun(error: unknown): boolean {
  return decisiveOf(error)?.notRun === true;
}
