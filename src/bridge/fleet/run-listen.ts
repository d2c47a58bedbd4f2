import type { JsonObject } from '../../jsonrpc/message.ts';

/** Runs a subscription until it ends. It is in `open` meanwhile, so that changes reach it. */
export async function runListen<Listen extends { run(): Promise<void> }>(
  open: Set<Listen>,
  listen: Listen,
): Promise<JsonObject> {
  open.add(listen);
  try {
    await listen.run();
    return {};
  } finally {
    open.delete(listen);
  }
}
