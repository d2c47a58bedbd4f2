import { createHmac } from 'node:crypto';

/**
 * The principals of those who show one of these secrets.
 *
 * With a state key, sessions, tasks and connections outlive the process, or belong to several processes. Then a principal must
 * not depend on the other secrets: otherwise, removing one would hand its sessions to the owner of the next one. Without the
 * key, nobody can find a secret by its principal, which is in the log.
 *
 * @param kind distinguishes the principals of different options.
 */
export function principalsOf(
  kind: string,
  secrets: readonly string[],
  stateKey: string | undefined,
): Record<string, string> {
  const nameOf = (secret: string, index: number): string | number =>
    stateKey === undefined ? index + 1 : codeOf(secret, stateKey);
  return Object.fromEntries(secrets.map((secret, index) => [secret, `${kind}-${nameOf(secret, index)}`]));
}

function codeOf(secret: string, stateKey: string): string {
  return createHmac('sha256', stateKey).update('everwire-principal').update(secret).digest('hex').slice(0, 16);
}
