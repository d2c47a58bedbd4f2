/** Why a server cannot listen at an address. */
export function bindProblem(
  cause: NodeJS.ErrnoException,
  host: string,
  port: number,
  platform = process.platform,
): string {
  switch (cause.code) {
    case 'EADDRINUSE':
      return `port ${port} on ${host} is already in use; choose another port, or 0 for a free one`;
    case 'EACCES':
      // Windows needs no rights for low ports, but Hyper-V and others reserve whole ranges of high ones.
      return platform === 'win32'
        ? `port ${port} on ${host} is reserved by Windows or another program; choose another port, or 0 for a free one`
        : `port ${port} on ${host} needs more rights than this process has`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is not an address of this machine`;
    default:
      return `cannot listen on ${host}:${port}: ${cause.message}`;
  }
}
