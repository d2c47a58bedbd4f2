import { basename } from 'node:path';
import { curlScript } from '../export/curl.ts';
import { harLog } from '../export/har.ts';
import { Masks } from '../export/masks.ts';
import { htmlPage } from '../export/page.ts';
import { recordedWire, TooLargeToExport, type RecordedWire } from '../export/recorded-wire.ts';
import { vitestFile } from '../export/vitest-file.ts';
import { readRecording } from '../inspect/read-recording.ts';
import type { ExportFlags } from './export-options.ts';
import { Failure } from './failure.ts';
import { keepInputs } from './keep-input.ts';
import { unreadable } from './open-recording.ts';
import { recordedSession } from './recorded-session.ts';
import { writeText } from './report-file.ts';

/** `everwire export`: writes a recording in another form. Secrets are not in it. */
export async function exportRecording(file: string, { as, out }: ExportFlags): Promise<void> {
  await keepInputs({ out }, file);
  const { wire, started } = await read(file);
  const masks = new Masks(wire);
  const name = basename(file);
  if ((as === 'curl' || as === 'har') && wire.exchanges.length === 0)
    throw Failure.usage(`${file} has no HTTP, so it cannot become ${as}; use --as vitest or --as html`);
  const convert = async (): Promise<string> =>
    as === 'curl'
      ? curlScript(wire.exchanges, masks)
      : as === 'har'
        ? harLog(wire.exchanges, started, masks)
        : as === 'html'
          ? htmlPage(wire, name, started, masks)
          : vitestFile((await recordedSession(file)).calls, wire, name, masks);
  const text = await convert().catch((error: unknown) => {
    // An export may be much longer than its texts, for example if each character is escaped.
    const isTooLong = error instanceof RangeError && error.message === 'Invalid string length';
    throw isTooLong ? unreadable(new TooLargeToExport(), file) : error;
  });
  // It has what was sent, like the recording.
  await writeText(text, out, undefined, 0o600);
}

async function read(file: string): Promise<{ wire: RecordedWire; started: string }> {
  try {
    const recording = await readRecording(file);
    return { wire: await recordedWire(recording), started: recording.header.started };
  } catch (error) {
    throw unreadable(error, file);
  }
}
