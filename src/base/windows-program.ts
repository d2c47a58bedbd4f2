/**
 * A program that belongs to Windows, with its path. By its name alone, Windows looks in the current folder first, and anybody may have put
 * another program of this name there.
 */
export function windowsProgram(name: string): string {
  return `${process.env['SystemRoot'] ?? String.raw`C:\Windows`}\\System32\\${name}.exe`;
}
