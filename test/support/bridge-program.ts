import { expect, onTestFinished } from 'vitest';
import { connect, type Client, type ClientOptions } from '../../src/client/index.ts';
import { startEverwire } from './command-line.ts';
import { type RunningProcess } from './process.ts';

export interface RunningBridge extends RunningProcess {
  readonly url: string;
  /** Fetches another path. */
  get(page: string, headers?: Record<string, string>): Promise<Response>;
}

/** Starts a bridge on a free port. The last arguments name the server behind it. */
export async function startBridge(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<RunningBridge> {
  const child = startEverwire(['bridge', '--port', '0', ...args], env);
  const [, url] = await child.line(/(?:listening on |"url":")(https?:\/\/[^\s"]+)/, 30_000);
  const get = (page: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(new URL(page, url), { headers });
  return { ...child, url: url!, get };
}

/** A client of a bridge. It is closed after the test. */
export async function client(url: string, options: ClientOptions = {}): Promise<Client> {
  const connected = await connect(url, { onerror: () => {}, ...options });
  onTestFinished(() => connected.close());
  return connected;
}

export const bearer = (token: string): ClientOptions => ({ headers: { authorization: `Bearer ${token}` } });

/** The samples of a metrics page, by name with labels. */
export async function samples(response: Response): Promise<Record<string, number>> {
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  const found: Record<string, number> = {};
  for (const line of (await response.text()).split('\n')) {
    if (line === '' || /^# (HELP|TYPE) \w+ /.test(line)) continue;
    const [, name, value] = /^([a-z_:][\w:]*(?:\{(?:\w+="[^"]*",?)*\})?) ([\d.e+-]+|NaN|[+-]Inf)$/i.exec(line) ?? [];
    if (name === undefined) throw new Error(`Prometheus would not read this: ${line}`);
    found[name] = Number(value);
  }
  return found;
}
