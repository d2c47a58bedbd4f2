import { FewPerTurn } from '../base/few-per-turn.ts';
import { waitFor } from '../base/wait.ts';
import type { ClientOptions } from '../client/options.ts';
import { openerFor } from '../client/open.ts';
import type { Opener } from '../client/requester.ts';
import type { Target } from '../client/target.ts';
import { unreached } from '../jsonrpc/error-chain.ts';

/** How long an attempt to connect may keep another one waiting. Milliseconds. */
const MAX_WAIT = 1000;

/**
 * While a server cannot be reached, one attempt to connect is enough for all clients: those that come meanwhile wait for
 * it, and fail if it fails. If it takes long, they do not wait for its end.
 */
export function sharingOpenerFor(target: Target, options: ClientOptions): Opener {
  const opener = openerFor(target, options);
  /** Each attempt takes about a millisecond, and many may begin or fail at once. */
  const places = new FewPerTurn();
  /** The newest failure. Undefined if the newest attempt has succeeded. */
  let failure: { readonly error: unknown } | undefined;
  /** The newest attempt that runs. */
  let newest: Promise<void> | undefined;
  const open: Opener['open'] = async (identity, signal) => {
    const [until, before] = [performance.now() + MAX_WAIT, failure];
    for (;;) {
      await new Promise<void>((resolve) => places.run(resolve));
      signal.throwIfAborted();
      if (failure && failure !== before) throw failure.error;
      const left = until - performance.now();
      if (!failure || !newest || left <= 0) break;
      await waitFor(newest, { signal, timeout: left }).catch(() => {});
    }
    const opening = opener.open(identity, signal);
    const over = opening.then(
      () => {
        failure = undefined;
      },
      (error: unknown) => {
        // Any other error may be about this client, such as one of its login.
        if (unreached(error)) failure = { error };
      },
    );
    newest = over;
    void over.then(() => {
      if (newest === over) newest = undefined;
    });
    return opening;
  };
  return { ...opener, open };
}
