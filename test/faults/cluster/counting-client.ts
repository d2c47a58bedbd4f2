import { SessionClient } from './session-client.ts';

/** A client of a bridge, whose child counts its calls. */
export class CountingClient extends SessionClient {
  /** The lists of the child do not change. */
  protected override readonly hearsLists = false;

  protected override async use(): Promise<void> {
    const { random } = this.parts;
    const { session } = this;
    const cancelAfter = random.between(0, 400);
    await random.weighted<() => Promise<unknown>>([
      [6, () => this.call('add', { args: { session } })],
      [1, () => Promise.all([1, 2, 3].map(() => this.call('add', { args: { session } })))],
      [1, () => this.call('slow', { args: { ms: random.between(500, 6000) } })],
      [1, () => this.call('slow', { args: { ms: 60_000 }, cancelAfter })],
      [2, () => this.call('ask-once')],
    ])();
  }
}
