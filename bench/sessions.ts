import type { HttpConnection } from './http-connection.ts';
import { HttpConnection as Connection } from './http-connection.ts';
import { HttpSession } from './http-session.ts';
import { memoryInUse, startPeer, stop } from './processes.ts';

/** Sessions before the first measurement. The first ones also load code and grow the heap. */
const WARM_UP = 1000;
const SESSIONS = 4000;

/** The bytes of memory that one more idle session with an open GET stream costs a server. */
export async function bytesPerSession(peer: string): Promise<number> {
  const { url, process: server } = await startPeer(peer);
  const streams: HttpConnection[] = [];
  const connection = new Connection(url);
  const open = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) {
      const session = await HttpSession.open(url, connection);
      streams.push(await session.openStream());
    }
  };
  try {
    await open(WARM_UP);
    const before = await memoryInUse(server);
    await open(SESSIONS);
    return ((await memoryInUse(server)) - before) / SESSIONS;
  } finally {
    for (const stream of streams) stream.close();
    connection.close();
    await stop(server);
  }
}
