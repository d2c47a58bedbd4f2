const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'there is no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'the system does not permit it',
  EISDIR: 'it is a directory',
  ELOOP: 'it is a symbolic link',
  ENXIO: 'it is not a regular file',
  ENOSPC: 'no space is left on the disk',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file has reached the size limit',
};

/** What is wrong with a file, in words. The messages of Node have codes and repeat the path. */
export function fileProblem(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return PROBLEMS[code] ?? message;
}
