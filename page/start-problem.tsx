import type { JSX } from 'preact';

/** Instead of the screens: why the inspector cannot be shown, and what to do. */
export function StartProblem({ reason }: { readonly reason: string }): JSX.Element {
  return (
    <main class="start-problem">
      <h1>Everwire</h1>
      <p role="alert">{reason}</p>
    </main>
  );
}
