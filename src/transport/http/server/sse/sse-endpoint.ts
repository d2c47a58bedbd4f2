import { randomUUID } from 'node:crypto';
import type { HttpCall } from '../call.ts';
import { Endpoint, type EndpointOptions } from '../endpoint.ts';
import { methodNotAllowed, NO_HEADERS, refuse, sessionNotFound, tooManySessions } from '../access/refusals.ts';
import { SseSession } from './sse-session.ts';

export interface SseEndpointOptions extends EndpointOptions {
  /** The path to which the client is told to post. */
  readonly messagesPath: string;
}

/**
 * The two endpoints of HTTP+SSE: a stream to the client, and POST requests from it (2024-11-05, transports: HTTP with
 * SSE).
 */
export class SseEndpoint extends Endpoint<SseEndpointOptions> {
  open(call: HttpCall): void {
    if (call.method !== 'GET') return methodNotAllowed(call, 'GET');
    const { sessions, connections, messagesPath } = this.options;
    if (!this.takesStream(call)) return;
    if (!sessions.makeRoom()) return tooManySessions(call);
    const session = new SseSession(randomUUID(), call, connections, (ended) => sessions.delete(ended.sessionId));
    sessions.add(session.sessionId, session);
    session.announce(`${messagesPath}?sessionId=${session.sessionId}`);
    this.announce(session, () => session.close());
  }

  post(call: HttpCall): void {
    if (call.method !== 'POST') return methodNotAllowed(call, 'POST');
    if (!this.sendsJson(call)) return;
    const id = new URLSearchParams(call.query).get('sessionId');
    if (!id) return refuse(call, 400, 'The query must name a sessionId, as the endpoint event said');
    const session = this.options.sessions.get(id);
    if (!(session instanceof SseSession) || session.principal !== call.principal) return sessionNotFound(call);
    this.readJson(call, (value) => {
      if (!session.connected) return sessionNotFound(call);
      session.receive(value, call);
      call.respond(202, NO_HEADERS);
    });
  }
}
