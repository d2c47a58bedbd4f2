// oxlint-disable-next-line import/default -- Vite builds the worker, and exports its address.
import address from './lint-worker.ts?worker&url';

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL: () => string }): { createScriptURL(url: string): string };
}

/** Starts the linter. The page may start no other script: its content security policy allows only this one policy. */
export function startLintWorker(): Worker {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  const policy = trustedTypes?.createPolicy('everwire-lint', { createScriptURL: () => address });
  return new Worker(policy?.createScriptURL(address) ?? address, { type: 'module' });
}
