/** An optional package is not installed. */
export class MissingPackage extends Error {
  override readonly name = 'MissingPackage';
  readonly packageName: string;

  constructor(need: string, packageName: string, cause: unknown) {
    super(`${need} the package ${packageName}: npm install ${packageName}`, { cause });
    this.packageName = packageName;
  }
}

/**
 * Handles a failed import of an optional package. Call it as `import('pino').catch(ifMissing('logs need', 'pino'))`:
 * bundlers accept a missing package only in an import that is caught directly.
 *
 * @throws MissingPackage if the package is not installed, else what the import threw.
 */
export function ifMissing(need: string, packageName: string): (cause: unknown) => never {
  return (cause) => {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new MissingPackage(need, packageName, cause);
  };
}
