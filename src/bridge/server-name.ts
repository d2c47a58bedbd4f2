import { kindOf, type CommandTarget, type Target } from '../client/target.ts';

/** The same for all processes that serve the same server. */
export function serverNameOf(target: Target): string {
  const kind = kindOf(target);
  if (kind === 'command') {
    const { command, args = [] } = target as CommandTarget;
    return JSON.stringify([command, ...args]);
  }
  if (kind !== 'url') return '';
  const url = typeof target === 'object' && 'url' in target ? target.url : (target as string | URL);
  return new URL(url).href;
}
