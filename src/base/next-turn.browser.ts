const waiting: (() => void)[] = [];
type Channel = InstanceType<typeof MessageChannel>;

let channel: Channel | undefined;

/** Replaces `next-turn.ts` in browsers. A timer would wait for a second in a page that is not visible. */
export function inNextTurn(run: () => void): void {
  if (typeof MessageChannel === 'undefined') return void setTimeout(run, 0);
  channel ??= open();
  waiting.push(run);
  channel.port2.postMessage(undefined);
}

function open(): Channel {
  const opened = new MessageChannel();
  opened.port1.addEventListener('message', () => waiting.shift()?.());
  opened.port1.start();
  return opened;
}
