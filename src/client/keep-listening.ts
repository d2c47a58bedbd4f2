import { derive } from '../core/derive.ts';
import type { Exchange, Service } from '../core/exchange.ts';
import { isTemporary, transportFailure } from '../jsonrpc/error-chain.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { NotificationMethod } from '../protocol/methods.ts';
import { acknowledgedOnce } from './acknowledged-once.ts';
import { ConnectionError, InvalidResultError } from './errors.ts';
import type { Link } from './link.ts';
import { Resubscription } from './resubscription.ts';

export interface KeepListeningOptions {
  readonly link: Link;
  /** Listens once, over the current connection of the link. */
  readonly service: Service;
  /** Called with one error for each loss, however many subscriptions the link has and however many attempts follow. */
  readonly onerror: (error: Error) => void;
}

/**
 * Serves one `subscriptions/listen` exchange with one subscription after another, over any number of connections. If
 * the stream is lost, or if a server that shuts down ends it with a response (2026-07-28, patterns/subscriptions:
 * Graceful Closure), the next subscription is opened after a growing pause. After the first acknowledgment, only a
 * refusal or the exchange's signal ends this. The exchange gets one acknowledgment. After each gap it gets a
 * notification for everything that may have changed.
 *
 * @returns an empty result when the exchange's signal fired, or when the server ended the subscription and the link
 * makes no other connection.
 * @throws the server's refusal, the reason why the first subscription could not be opened, or the reason why the link
 * was closed.
 */
export async function keepListening(
  exchange: Exchange,
  { link, service, onerror }: KeepListeningOptions,
): Promise<JsonObject> {
  const { signal } = exchange;
  const resubscription = new Resubscription();
  const tell = acknowledgedOnce(exchange);
  let acknowledged = false;
  const through = derive(exchange, {
    notify: (method, params) => {
      if (method === NotificationMethod.Acknowledged) {
        acknowledged = true;
        resubscription.acknowledged();
        link.interrupted.delete(exchange);
      }
      return tell(method, params);
    },
  });
  try {
    while (!signal.aborted) {
      let lost: Error;
      try {
        await link.connect();
        if (signal.aborted) break;
        await service(through);
        // If no other connection can be made, the end of the subscription is final.
        if (acknowledged && !link.reopens) break;
        lost = acknowledged
          ? new ConnectionError('the server ended it')
          : new InvalidResultError('The server ended the subscription before it acknowledged it');
      } catch (error) {
        lost = error as Error;
      }
      if (signal.aborted) break;
      if (!acknowledged || isTemporary(lost) === false || !link.usable) throw lost;
      if (await link.awaitCall(signal)) continue;
      const first = resubscription.ended();
      if (first && link.interrupted.size === 0) {
        const why = (transportFailure(lost.cause) ?? lost).message;
        onerror(new ConnectionError(`Subscriptions were lost and will be opened again: ${why}`, { cause: lost }));
      }
      link.interrupted.add(exchange);
      await resubscription.pause(signal, link.closing);
      // The connection may have been lost during the pause.
      await link.awaitCall(signal);
    }
  } finally {
    link.interrupted.delete(exchange);
  }
  return {};
}
