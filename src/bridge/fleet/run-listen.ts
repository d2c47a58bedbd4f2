import type { JsonObject } from '../../jsonrpc/message.ts';

/** Runs a subscription until it ends, or the signal fires. It is in `open` meanwhile, so that changes reach it. */
export async function runListen<Listen extends { run(): Promise<void>; end(): void }>(
  open: Set<Listen>,
  listen: Listen,
  signal: AbortSignal,
): Promise<JsonObject> {
  const end = (): void => listen.end();
  signal.addEventListener('abort', end);
  if (signal.aborted) end();
  open.add(listen);
  try {
    await listen.run();
    return {};
  } finally {
    open.delete(listen);
    signal.removeEventListener('abort', end);
    end();
  }
}
