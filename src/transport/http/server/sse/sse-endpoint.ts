import { randomUUID } from 'node:crypto';
import { openBatch } from '../../../../jsonrpc/batch.ts';
import { isRequest, type Message } from '../../../../jsonrpc/message.ts';
import type { NodeId } from '../../../../store/bus.ts';
import type { HttpCall } from '../call.ts';
import { Endpoint, type EndpointOptions } from '../endpoint.ts';
import { CallExtra } from '../extra.ts';
import {
  failed,
  methodNotAllowed,
  NO_HEADERS,
  notPassedOn,
  refuse,
  refuseMessage,
  sessionNotFound,
  tooManySessions,
} from '../access/refusals.ts';
import type { PassedPost, PassedPosts } from './passed-posts.ts';
import { SseSession } from './sse-session.ts';

/**
 * The two endpoints of HTTP+SSE: a stream to the client, and POST requests from it (2024-11-05, transports: HTTP with
 * SSE).
 */
export class SseEndpoint extends Endpoint {
  readonly #messagesPath: string;
  readonly #passed: PassedPosts | undefined;

  /**
   * @param messagesPath the path to which the client is told to post.
   * @param passed set if other processes may have the stream.
   */
  constructor(options: EndpointOptions, messagesPath: string, passed: PassedPosts | undefined) {
    super(options);
    this.#messagesPath = messagesPath;
    this.#passed = passed;
  }

  open(call: HttpCall): void {
    if (call.method !== 'GET') return methodNotAllowed(call, 'GET');
    const { sessions } = this.options;
    if (!this.takesStream(call)) return;
    if (!sessions.makeRoom(call)) return tooManySessions(call);
    const id = this.#passed?.newId() ?? randomUUID();
    const header = this.#passed && new CallExtra(call).header;
    const session = new SseSession(id, call, `${this.#messagesPath}?sessionId=${id}`, this.options, header);
    sessions.add(id, session, call);
    this.announce(session, () => session.close());
  }

  post(call: HttpCall): void {
    if (call.method !== 'POST') return methodNotAllowed(call, 'POST');
    if (!this.sendsJson(call)) return;
    const id = new URLSearchParams(call.query).get('sessionId');
    if (!id) return refuse(call, 400, 'The query must contain the sessionId from the endpoint event');
    const session = this.options.sessions.get(id);
    if (!session && this.#passed) {
      const node = this.#passed.processOf(id);
      if (node !== undefined) return this.#passOn(call, id, node, this.#passed);
    }
    if (!(session instanceof SseSession) || session.principal !== call.principal) return sessionNotFound(call);
    const { scopes } = this.options;
    this.readJson(call, session, (body) => {
      if (!session.connected) return sessionNotFound(call);
      const extraOf = (among: number): CallExtra => new CallExtra(call, among);
      if (session.receive(body, extraOf, (requests) => scopes.admits(call, requests, true)))
        call.respond(202, NO_HEADERS);
    });
  }

  /** Passes a message on to the process that has the stream. */
  #passOn(call: HttpCall, id: string, to: NodeId, passed: PassedPosts): void {
    const { scopes, onerror } = this.options;
    const fail = (error: unknown): void => failed(call, error, onerror);
    // What a malformed answer means for its question does not change the response.
    const deliver = (failure: Message): void => void passed.pass(to, id, failure, call).catch(onerror);
    this.readJson(call, { sessionId: id, deliver }, (body) => {
      if (!('jsonrpc' in body) && !scopes.admits(call, openBatch(body).messages.filter(isRequest), true)) return;
      passed.pass(to, id, body, call).then((outcome) => respond(call, outcome), fail);
    });
  }
}

function respond(call: HttpCall, outcome: PassedPost): void {
  if (outcome === 'taken') return call.respond(202, NO_HEADERS);
  if (outcome === 'gone') return sessionNotFound(call);
  if (outcome === 'unreachable') return refuseMessage(call, 503, notPassedOn());
  refuseMessage(call, 400, outcome);
}
