/** An abort controller that any code may use. */
export function abortController(): AbortController {
  return new AbortController();
}
