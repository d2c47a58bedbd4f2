/** Whether a write failed because nobody reads the output any more. A reader may leave early, as `head` does. */
export function isReaderGone(error: Error): boolean {
  return (error as NodeJS.ErrnoException).code === 'EPIPE';
}
