import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/**
 * Whether a shell is installed. As root on Debian, its package is installed. If there is none, the reason is printed, and
 * the tests should be skipped.
 */
export function findShell(name: 'bash' | 'zsh' | 'fish' | 'pwsh'): boolean {
  if (process.platform === 'win32') return false;
  const found = (): boolean => spawnSync(name, ['-c', 'true']).status === 0;
  if (found() || (installed(name) && found())) return true;
  process.stderr.write(`Tests of completion in ${name} are skipped: install ${name}.\n`);
  return false;
}

function installed(name: string): boolean {
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) return false;
  const options = { timeout: 300_000 };
  return spawnSync('apt-get', ['-o', 'DPkg::Lock::Timeout=120', 'install', '-y', name], options).status === 0;
}
