import type { JSX } from 'preact';
import type { Severity } from './finding.ts';

/** Each severity has a shape of its own, because colors alone are not enough. */
const SHAPES: Readonly<Record<Severity, readonly [outline: string, sign: string]>> = {
  error: ['M5 1h6l4 4v6l-4 4H5l-4-4V5z', 'M5.5 5.5l5 5m0-5l-5 5'],
  warning: ['M8 1.5l7 13H1z', 'M8 6v4m0 2v.5'],
  advice: ['M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1z', 'M8 4.5V5m0 2.5v4'],
};

/** The sign of a severity. What it means must stand beside it, or in the name of what contains it. */
export function SeverityIcon({ severity }: { severity: Severity }): JSX.Element {
  const [outline, sign] = SHAPES[severity];
  return (
    <svg class={`severity ${severity}`} viewBox="0 0 16 16" aria-hidden="true">
      <path class="outline" d={outline} />
      <path class="sign" d={sign} />
    </svg>
  );
}
