import { randomUUID } from 'node:crypto';
import type { HttpCall } from '../call.ts';
import { Endpoint, type EndpointOptions } from '../endpoint.ts';
import { methodNotAllowed, NO_HEADERS, refuse, sessionNotFound, tooManySessions } from '../access/refusals.ts';
import { SseSession } from './sse-session.ts';

/**
 * The two endpoints of HTTP+SSE: a stream to the client, and POST requests from it (2024-11-05, transports: HTTP with
 * SSE).
 */
export class SseEndpoint extends Endpoint {
  readonly #messagesPath: string;

  /** @param messagesPath the path to which the client is told to post. */
  constructor(options: EndpointOptions, messagesPath: string) {
    super(options);
    this.#messagesPath = messagesPath;
  }

  open(call: HttpCall): void {
    if (call.method !== 'GET') return methodNotAllowed(call, 'GET');
    const { sessions } = this.options;
    if (!this.takesStream(call)) return;
    if (!sessions.makeRoom(call)) return tooManySessions(call);
    const id = randomUUID();
    const session = new SseSession(id, call, `${this.#messagesPath}?sessionId=${id}`, this.options);
    sessions.add(id, session, call);
    this.announce(session, () => session.close());
  }

  post(call: HttpCall): void {
    if (call.method !== 'POST') return methodNotAllowed(call, 'POST');
    if (!this.sendsJson(call)) return;
    const id = new URLSearchParams(call.query).get('sessionId');
    if (!id) return refuse(call, 400, 'The query must contain the sessionId from the endpoint event');
    const session = this.options.sessions.get(id);
    if (!(session instanceof SseSession) || session.principal !== call.principal) return sessionNotFound(call);
    this.readJson(call, session, (body) => {
      if (!session.connected) return sessionNotFound(call);
      if (session.receive(body, call)) call.respond(202, NO_HEADERS);
    });
  }
}
