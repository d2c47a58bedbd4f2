/**
 * Sends texts at a steady rate. Each has its number and when it was sent, in milliseconds since 1970:
 * `17 1764120000003.4`. A late text does not change when the next is due.
 */
export function repeatPerSecond(perSecond: number, count: number, send: (text: string) => void): Promise<void> {
  const start = performance.now();
  let sent = 0;
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      const due = Math.min(count, (performance.now() - start) * (perSecond / 1000));
      for (; sent < due; sent += 1) send(`${sent + 1} ${performance.timeOrigin + performance.now()}`);
      if (sent !== count) return;
      clearInterval(timer);
      resolve();
    }, 1);
  });
}
