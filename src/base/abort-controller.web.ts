import { Deferred } from './deferred.ts';

/**
 * Replaces `abort-controller.ts` in workers. There, a controller belongs to the request that made it, and its `abort` throws
 * while another request is handled. What waits for a promise continues on behalf of its own request.
 */
export function abortController(): AbortController {
  const controller = new AbortController();
  const elsewhere = new Deferred<unknown>();
  void elsewhere.promise.then((reason) => controller.abort(reason));
  return {
    signal: controller.signal,
    abort: (reason) => {
      try {
        controller.abort(reason);
      } catch {
        elsewhere.resolve(reason);
      }
    },
  };
}
