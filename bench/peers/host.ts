/**
 * Tells the benchmark where a peer listens, and reports its memory in use and its processor time on request. The peer
 * exits when the benchmark does.
 */
export function ready(url: string): void {
  process.send!({ url });
  process.on('disconnect', () => process.exit());
  process.on('message', () => {
    // Twice: objects freed by a finaliser go with the second collection.
    globalThis.gc!();
    globalThis.gc!();
    const { user, system } = process.cpuUsage();
    process.send!({ rss: process.memoryUsage.rss(), cpu: user + system });
  });
}
