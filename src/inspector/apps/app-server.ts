import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AppDocument, AppReports, ServedApp } from '../../inspect/page-server/apps-api.ts';
import { requestBody } from '../../inspect/page-server/request-body.ts';
import { Strangers } from '../../inspect/page-server/strangers.ts';
import { frameDocument } from './frame-document.ts';
import { appPolicy } from './policy.ts';
import { Reports } from './reports.ts';

/** An app that is served. */
interface App {
  readonly id: number;
  /** What the `Host` header must be. */
  readonly host: string;
  readonly frame: Page;
  readonly view: Page;
  readonly reports: Reports;
}

interface Page {
  readonly html: string;
  readonly policy: string;
}

/** The most apps at a time. Above this, the oldest is no longer served. */
const MAX_APPS = 16;
/** The largest report of a browser, in bytes. */
const MAX_REPORT = 16 * 1024;
/** How often a port is chosen, if another program has the same one on the other loopback address. */
const MAX_TRIES = 10;
/** The headers of every response. No response may be without a policy: an app could load it into a frame, and use that. */
const PROTECTION = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  // Nothing of another app can reach into this one, although both are on this machine.
  'origin-agent-cluster': '?1',
  'referrer-policy': 'no-referrer',
  'x-dns-prefetch-control': 'off',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), clipboard-read=(), display-capture=(), usb=()',
  'cache-control': 'no-store',
} as const;

/**
 * Serves apps on loopback, away from the page. Each server has an origin of its own, `http://<random>.localhost:<port>`,
 * which browsers treat as another site. Only frames may load it.
 */
export class AppServer {
  /** The source of frames for the policy of the page. */
  readonly frames: string;
  readonly #listeners: readonly Server[];
  readonly #port: number;
  readonly #apps = new Map<string, App>();
  readonly #strangers = new Strangers();
  /** The hosts of servers. */
  readonly #hosts = new Map<string, string>();
  #page: string | undefined;
  #newest = 0;
  /** Called with the id of an app when there are new reports about it. */
  onreports: (reports: AppReports) => void = () => {};
  /** Called with the id of an app that is no longer served. */
  onclose: (id: number) => void = () => {};

  private constructor(listeners: readonly Server[], port: number) {
    this.#listeners = listeners;
    this.#port = port;
    this.frames = `http://*.localhost:${port}`;
    for (const listener of listeners) {
      listener.on('connection', (socket) => this.#strangers.add(socket));
      listener.on('request', (request: IncomingMessage, response: ServerResponse) => this.#answer(request, response));
      // Without a listener, an error would end the process, for example when no file descriptors are left.
      listener.on('error', () => {});
    }
  }

  /**
   * Listens on a free port of both loopback addresses: another user of this machine must not take the other one.
   *
   * @throws Error if no port can be used.
   */
  static async listen(): Promise<AppServer> {
    for (let tries = 1; ; tries += 1) {
      const four = await listen(0, '127.0.0.1');
      const { port } = four.address() as AddressInfo;
      try {
        return new AppServer([four, await listen(port, '::1')], port);
      } catch (error) {
        // This machine has no IPv6.
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') return new AppServer([four], port);
        four.close();
        if (tries === MAX_TRIES) throw error;
      }
    }
  }

  /** Allows a page to show apps. @param page its origin. */
  embedIn(page: string): void {
    this.#page = page;
  }

  /**
   * Serves an app.
   *
   * @param server identifies the server that it comes from.
   */
  serve(server: string, { html, csp }: AppDocument): ServedApp {
    const page = this.#page;
    if (page === undefined) throw new Error('There is no page that could show the app.');
    let host = this.#hosts.get(server);
    if (host === undefined)
      this.#hosts.set(server, (host = `${randomBytes(16).toString('hex')}.localhost:${this.#port}`));
    const ticket = randomBytes(16).toString('base64url');
    const [app, report] = [`http://${host}`, `/${ticket}/report`];
    const policy = appPolicy(csp, { page, app, report });
    this.#newest += 1;
    const id = this.#newest;
    const view = { html, policy: policy.header };
    this.#apps.set(ticket, { id, host, frame: frameDocument(page, app, report), view, reports: new Reports() });
    const [oldest] = this.#apps.values();
    if (this.#apps.size > MAX_APPS) this.close(oldest!.id);
    return { id, url: `${app}/${ticket}/`, policy };
  }

  /** Stops serving an app. */
  close(id: number): void {
    const entry = [...this.#apps].find(([, app]) => app.id === id);
    if (entry && this.#apps.delete(entry[0])) this.onclose(id);
  }

  async stop(): Promise<void> {
    await Promise.all(
      this.#listeners.map((listener) => {
        const closed = new Promise((resolve) => void listener.close(resolve));
        listener.closeAllConnections();
        return closed;
      }),
    );
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { url = '', method, headersDistinct, headers } = request;
    const [, ticket = '', name] = /^\/([\w-]{22})\/(view|report)?$/.exec(url) ?? [];
    const app = this.#apps.get(ticket);
    const { host = [] } = headersDistinct;
    if (!app || host.length !== 1 || host[0] !== app.host) return refuse(response, 404);
    this.#strangers.trust(request.socket);
    if (name === 'report') this.#report(app, request, response);
    else if (method !== 'GET') refuse(response, 405);
    else if (headers['sec-fetch-dest'] !== 'iframe') refuse(response, 403);
    else show(response, name === 'view' ? app.view : app.frame);
  }

  #report(app: App, request: IncomingMessage, response: ServerResponse): void {
    if (request.method !== 'POST') return refuse(response, 405);
    requestBody(request, MAX_REPORT)
      .then((body) => {
        if (body === undefined) return refuse(response, 413);
        response.writeHead(204, PROTECTION).end();
        if (app.reports.add(body)) this.onreports(app.reports.state(app.id));
      })
      .catch(() => response.destroy());
  }
}

function show(response: ServerResponse, { html, policy }: Page): void {
  const headers = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy };
  response.writeHead(200, { ...PROTECTION, ...headers }).end(html);
}

/** Refuses a request. Nothing more is read from its connection, because its body may be of any length. */
function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { ...PROTECTION, 'content-type': 'text/plain', connection: 'close' }).end();
}

function listen(port: number, host: string): Promise<Server> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve(server);
    });
  });
}
