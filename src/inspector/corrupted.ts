/** A line in which the first brace is replaced, so that it is not JSON. */
export function corrupted(line: Buffer): Buffer {
  const at = line.indexOf('{');
  return at === -1 ? line : Buffer.concat([line.subarray(0, at), Buffer.from('!'), line.subarray(at + 1)]);
}
