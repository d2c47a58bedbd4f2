import { describe, expect, test } from 'vitest';
import { modernTour } from './notes-modern.ts';
import { overHttp, overStdio, startNotes, tour } from './notes.ts';

describe('the notes server, moved', () => {
  test('does the same over HTTP', async () => {
    const [before, after] = await Promise.all([startNotes('official-sdk-1'), startNotes('everwire')]);
    const then = await tour(overHttp(before));
    expect(await tour(overHttp(after))).toEqual(then);
    expect(then['secret']).toMatchObject({ content: [{ text: 'ada may notes' }] });
  });

  test('does the same as with the SDK 2.x, in 2026-07-28', async () => {
    const [before, after] = await Promise.all([startNotes('official-sdk-2'), startNotes('everwire')]);
    const then = await modernTour(before);
    expect(await modernTour(after)).toEqual(then);
    expect(then['secret']).toMatchObject({ content: [{ text: 'ada may notes' }] });
  });

  test('does the same over stdio', async () => {
    const then = await tour(overStdio('official-sdk-1'));
    expect(await tour(overStdio('everwire'))).toEqual(then);
    expect(then['secret']).toMatchObject({ content: [{ text: 'nobody may nothing' }] });
  });
});
