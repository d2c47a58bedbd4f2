/** What can be given up, and tells so by a signal that is made when somebody first wants it: it is not free. */
export abstract class Abortable {
  #controller: AbortController | undefined;
  #ended: Error | undefined;

  /** Why it is over, if it is. */
  get ended(): Error | undefined {
    return this.#ended;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#ended) this.#controller.abort(this.#ended);
    }
    return this.#controller.signal;
  }

  /** It is over, and who works on it need not hear of that: the signal does not fire, unless it is first wanted later. */
  protected settle(reason: Error): void {
    this.#ended = reason;
  }

  /** It is over, and the signal fires. */
  protected fire(reason: Error): void {
    this.#ended = reason;
    this.#controller?.abort(reason);
  }
}

/** What all that is made for one request has, whatever it came in on. */
export abstract class AbortableExchange extends Abortable {
  #notes: Map<string, unknown> | undefined;

  /** See `Exchange.notes`. */
  get notes(): Map<string, unknown> {
    return (this.#notes ??= new Map());
  }

  /** As `notes`, where there are any. */
  get noted(): ReadonlyMap<string, unknown> | undefined {
    return this.#notes;
  }
}
