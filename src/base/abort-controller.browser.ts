/** Replaces `abort-controller.web.ts` in browsers, which need nothing special. */
export function abortController(): AbortController {
  return new AbortController();
}
