import { Capture, readRecording, recordToFile, tapSocket, type WireRecord, type Wiretap } from 'everwire/inspect';
import { childTransport } from 'everwire/stdio';
import { connect } from 'everwire/client';
import type { Socket } from 'node:net';

export const capture = new Capture({ maxBytes: 1024 * 1024, maxRecords: undefined });
const wiretap: Wiretap = capture;
export const child = childTransport({ command: 'node', wiretap });
export const client = connect('http://127.0.0.1:8000/mcp', { wiretap });
export const observe = (socket: Socket): void => tapSocket(wiretap, { protocol: 'http', role: 'server' }, socket);

export async function recordOnce(file: string): Promise<string> {
  const recording = await recordToFile(capture, file, { onerror: console.error, target: undefined });
  await recording.close();
  return (await readRecording(file)).header.started;
}

export async function methods(): Promise<(string | undefined)[]> {
  const found: WireRecord[] = [];
  for await (const records of capture.records({ after: 0 })) found.push(...records);
  return found.map((record) => (record.layer === 'message' ? record.method : undefined));
}
