/**
 * Sends notifications at a steady rate, from the first input on: `node steady.js <messages a second> <seconds>`. The
 * name in each of them is its number, and when it was due in milliseconds since 1970: `17 1764120000003.4`. A late
 * message does not change when the next is due.
 */

const [perSecond = NaN, seconds = NaN] = process.argv.slice(2).map(Number);
const count = perSecond * seconds;

process.stdin.once('data', () => {
  const start = performance.timeOrigin + performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = Math.min(count, (performance.timeOrigin + performance.now() - start) * (perSecond / 1000));
    let lines = '';
    for (; sent < due; sent += 1) {
      const name = `${sent + 1} ${(start + (sent * 1000) / perSecond).toFixed(1)}`;
      lines += `{"jsonrpc":"2.0","method":"notifications/steady","params":{"name":"${name}"}}\n`;
    }
    process.stdout.write(lines);
    if (sent === count) clearInterval(timer);
  }, 1);
});
