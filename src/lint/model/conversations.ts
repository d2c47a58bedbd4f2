import { peerUrl } from '../../base/peer-url.ts';
import { isObject } from '../../jsonrpc/message.ts';
import { Oldest } from '../../base/oldest.ts';
import { Method } from '../../protocol/methods.ts';
import { profileOf } from '../../protocol/revisions.ts';
import { Conversation } from './conversation.ts';
import type { Exchange } from './exchange.ts';
import { headerRevision, modernRevisionOf } from './revisions-of.ts';

const MAX_CONVERSATIONS = 200;

/** Finds the conversation of an HTTP exchange. */
export class HttpConversations {
  readonly #byKey = new Map<string, Conversation>();
  readonly #oldest = new Oldest(this.#byKey);

  /**
   * The conversation of a request. A new one for `initialize`, until its answer names the session.
   *
   * @param value what its body says, if it has one.
   */
  of(exchange: Exchange, value: unknown): Conversation {
    const { request, role } = exchange;
    const named = headerRevision(request);
    const isModern =
      modernRevisionOf(value) !== undefined || (named !== undefined && profileOf(named)!.era === 'modern');
    if (isModern) return this.#get(`modern ${endpointOf(exchange)}`, () => new Conversation('http', true, 'none'));
    const sse = this.#byKey.get(`sse ${role} ${exchange.target}`);
    if (sse) return sse;
    const session = request.get('mcp-session-id');
    if (session !== undefined) {
      return this.#get(`session ${role} ${session}`, () => {
        const conversation = new Conversation('http', false, 'none');
        conversation.session = session;
        conversation.lose();
        return conversation;
      });
    }
    if (isInitialize(value)) return new Conversation('http', false, 'new');
    return this.#get(`open ${endpointOf(exchange)}`, () => new Conversation('http', true, 'none'));
  }

  /** The response to an `initialize` has begun: it names the session, or there is none. */
  opened(exchange: Exchange, conversation: Conversation): Conversation {
    const session = exchange.response?.get('mcp-session-id');
    if (session !== undefined) {
      conversation.session = session;
      this.#set(`session ${exchange.role} ${session}`, conversation);
      return conversation;
    }
    return this.#get(`open ${endpointOf(exchange)}`, () => new Conversation('http', true, 'none'));
  }

  /** A stream of HTTP+SSE has named the endpoint for its messages. */
  openedStream(exchange: Exchange, endpoint: string): Conversation {
    const conversation = new Conversation('sse', false, 'new');
    const base = peerUrl(`http://${exchange.request.get('host') ?? 'localhost'}${exchange.target}`);
    const url = base && peerUrl(endpoint, base);
    if (url) this.#set(`sse ${exchange.role} ${url.pathname + url.search}`, conversation);
    return conversation;
  }

  lose(): void {
    for (const conversation of this.#byKey.values()) conversation.lose();
  }

  #get(key: string, create: () => Conversation): Conversation {
    const known = this.#byKey.get(key);
    if (known) return known;
    const created = create();
    this.#set(key, created);
    return created;
  }

  #set(key: string, conversation: Conversation): void {
    this.#byKey.set(key, conversation);
    if (this.#byKey.size > MAX_CONVERSATIONS) this.#byKey.delete(this.#oldest.take()!);
  }
}

function isInitialize(value: unknown): boolean {
  return isObject(value) && value['method'] === Method.Initialize;
}

function endpointOf({ role, request, target }: Exchange): string {
  return `${role} ${request.get('host') ?? ''} ${target.split('?', 1)[0]}`;
}
