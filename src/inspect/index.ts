/**
 * Records the wire as it is: the bytes of each connection in both directions, and the HTTP heads, SSE frames, lines and
 * messages in them.
 *
 * @module
 */
export { Capture } from './capture.ts';
export type { CaptureOptions, RecordsOptions } from './record-log.ts';
export { readRecording, RecordingError, type Recording } from './read-recording.ts';
export { recordToFile, type FileRecording, type RecordToFileOptions } from './record-to-file.ts';
export type { RecordingHeader } from './recording-format.ts';
export type {
  ByteRange,
  BytesRecord,
  CloseRecord,
  GapRecord,
  MessageKind,
  NumberedRecord,
  OpenRecord,
  Part,
  PartLayer,
  PartRecord,
  WireRecord,
} from './record.ts';
export {
  tapSocket,
  tapStreams,
  type ConnectionTap,
  type TappedStreams,
  type WireConnection,
  type WireProtocol,
  type WireStream,
  type Wiretap,
} from '../transport/wiretap.ts';
