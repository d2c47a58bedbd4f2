/** The code or the message of the first cause that has one. `fetch` wraps the reason, and says only `fetch failed`. */
export function firstReason({ code, message, cause }: { code?: unknown; message?: string; cause?: unknown }): string {
  const first = typeof cause === 'object' && cause !== null ? firstReason(cause) : '';
  return first || (typeof code === 'string' ? code : (message ?? ''));
}
