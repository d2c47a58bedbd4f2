import { existsSync } from 'node:fs';

/** Why a command could not be started. */
export function whyNotStarted(
  error: NodeJS.ErrnoException,
  command: string,
  cwd?: string,
  platform = process.platform,
): string {
  if (error.code === 'EACCES')
    return platform === 'win32'
      ? 'access was denied: name a program, or start a script with its interpreter, such as node'
      : 'it is not executable: run chmod +x, or start it with its interpreter, such as node';
  // Node's message repeats the value, which may be a secret.
  if (error.code === 'ERR_INVALID_ARG_VALUE')
    return 'its name, an argument, a variable or the directory contains a null character';
  if (error.code !== 'ENOENT') return error.message;
  if (cwd !== undefined && !existsSync(cwd)) return `there is no directory ${cwd}`;
  // Hosts with a window often have another PATH than a shell.
  return /[/\\]/.test(command) ? 'there is no such file' : 'command not found in any folder of PATH';
}
