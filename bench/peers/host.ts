/**
 * Tells the bench where a peer listens, and answers when it asks for the memory in use and the processor time spent. The
 * peer ends with the bench, however that ends.
 */
export function ready(url: string): void {
  process.send!({ url });
  process.on('disconnect', () => process.exit());
  process.on('message', () => {
    // Twice: what a finaliser frees goes with the second.
    globalThis.gc!();
    globalThis.gc!();
    const { user, system } = process.cpuUsage();
    process.send!({ rss: process.memoryUsage.rss(), cpu: user + system });
  });
}
