import { shortText } from '../../../../base/short-text.ts';
import type { Request, RequestId, Response } from '../../../../jsonrpc/message.ts';
import { Method } from '../../../../protocol/methods.ts';
import { replayOf, type Setting } from './session-settings.ts';

/** The requests of a session that are repeated here because other processes have got them. The client gets no response. */
export class Replays {
  readonly #requests = new Map<RequestId, Request & { readonly late: boolean }>();

  /**
   * The requests that repeat changes.
   *
   * @param late whether the client may have missed updates since.
   */
  begin(changes: readonly Setting[], late: boolean): readonly Request[] {
    const requests = replayOf(changes);
    for (const request of requests) this.#requests.set(request.id, { ...request, late });
    return requests;
  }

  has(id: RequestId | undefined): boolean {
    return this.#requests.has(id!);
  }

  /**
   * Takes the response to a request. Returns the URI of a resource whose updates the client may have missed.
   *
   * @throws Error if the request has failed.
   */
  end(response: Response): unknown {
    const { method, params, late } = this.#requests.get(response.id!)!;
    this.#requests.delete(response.id!);
    if ('error' in response)
      throw new Error(`${shortText(method)} from another process could not be repeated: ${response.error.message}`);
    return late && method === Method.Subscribe ? params?.['uri'] : undefined;
  }
}
