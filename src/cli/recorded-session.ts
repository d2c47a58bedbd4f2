import { recordedSession as readSession, type RecordedSession } from '../replay/recorded-session.ts';
import { unreadable } from './open-recording.ts';

/**
 * Reads the requests of a recording.
 *
 * @throws Failure with code 2 if it cannot be read, is not a recording, or has no request that was answered.
 */
export async function recordedSession(file: string): Promise<RecordedSession> {
  try {
    return await readSession(file, file);
  } catch (error) {
    throw unreadable(error, file);
  }
}
