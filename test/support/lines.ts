import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/**
 * Calls back for each line of a stream. A line ends with a line feed, with or without a carriage return before it:
 * `readline` of Node 24 ends lines at U+2028 and U+2029 too, which may be inside a message.
 */
export function onLine(stream: Readable, online: (line: string) => void): void {
  const decoder = new StringDecoder('utf8');
  let begun: string[] = [];
  const end = (): void => {
    const line = begun.join('');
    begun = [];
    online(line.endsWith('\r') ? line.slice(0, -1) : line);
  };
  stream.on('data', (chunk: Buffer) => {
    const [first = '', ...others] = decoder.write(chunk).split('\n');
    begun.push(first);
    for (const next of others) {
      end();
      begun.push(next);
    }
  });
  stream.on('end', () => {
    if (begun.some((text) => text !== '')) end();
  });
}
