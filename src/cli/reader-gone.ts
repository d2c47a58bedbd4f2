/** Whether a write failed because the reader closed the pipe. A reader may stop early, as `head` does. */
export function isReaderGone(error: Error): boolean {
  return (error as NodeJS.ErrnoException).code === 'EPIPE';
}
