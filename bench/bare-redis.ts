import { createClient } from '@redis/client';

/** One of two processes that pass texts to each other through Redis streams, and do nothing else. */
export interface BareRedis {
  readonly send: (text: string) => void;
  readonly close: () => Promise<void>;
}

/** Reads one stream, and writes to another one. A command that Redis refuses ends the process. */
export async function openBareRedis(
  url: string,
  { from, to }: { readonly from: string; readonly to: string },
  ontext: (text: string, send: BareRedis['send']) => void,
): Promise<BareRedis> {
  const [writer, reader] = [createClient({ url }), createClient({ url })];
  await Promise.all([writer.connect(), reader.connect()]);
  let closed = false;
  const send = (text: string): void => void writer.sendCommand(['XADD', to, '*', 't', text]);
  const read = async (): Promise<void> => {
    while (!closed) {
      const reply = await reader.sendCommand(['XREAD', 'COUNT', '32', 'BLOCK', '100', 'STREAMS', from, '0']);
      if (reply === null) continue;
      const [entries] = Object.values(reply) as [id: string, fields: [name: string, text: string]][][];
      // The next read comes after it on the same connection.
      void reader.sendCommand(['XDEL', from, ...entries!.map(([id]) => id)]);
      for (const [, [, text]] of entries!) ontext(text, send);
    }
    await Promise.all([reader.close(), writer.close()]);
  };
  const reading = read();
  const close = (): Promise<void> => {
    closed = true;
    return reading;
  };
  return { send, close };
}
