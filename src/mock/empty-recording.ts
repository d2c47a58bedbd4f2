/** A recording has no request that a server answered. */
export class EmptyRecording extends Error {
  override readonly name = 'EmptyRecording';

  constructor() {
    super('the recording has no request that a server answered');
  }
}
