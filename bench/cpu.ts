import type { HttpCalls } from './http-calls.ts';
import { loadHttp } from './http-load.ts';
import { cpuTime, startPeer, stop } from './processes.ts';

const CONNECTIONS = 4;

/** The microseconds of processor time that one request costs a server in its own process. */
export async function cpuPerRequest(
  peer: string,
  args: readonly string[],
  prepare: (url: URL) => HttpCalls,
  seconds: number,
): Promise<number> {
  const { url, process: server } = await startPeer(peer, args);
  try {
    const calls = prepare(url);
    await loadHttp(calls, CONNECTIONS, 2);
    const [before, started] = [await cpuTime(server), performance.now()];
    const { perSecond } = await loadHttp(calls, CONNECTIONS, seconds);
    const requests = (perSecond * (performance.now() - started)) / 1000;
    return ((await cpuTime(server)) - before) / requests;
  } finally {
    await stop(server);
  }
}
