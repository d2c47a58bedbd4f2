/** Replaces `reason.ts` in browsers, which do not say why a request failed. */
export const UNKNOWN_ISSUER: ReadonlySet<unknown> = new Set();

export function reasonOf({ message }: Error): string {
  return `${message} (does the server run, and does it allow the origin of this page? See CORS in the browser's console)`;
}
