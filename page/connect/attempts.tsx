import type { JSX } from 'preact';
import type { Attempt } from '../../src/inspect/page-server/page-api.ts';
import { durationText } from '../explore/bytes.ts';
import { Visible, visible } from '../ui/visible.tsx';

const OUTCOMES: Readonly<Record<Attempt['outcome'], readonly [text: string, kind: string]>> = {
  running: ['running', 'warn'],
  done: ['done', 'good'],
  failed: ['failed', 'bad'],
};

interface AttemptsProps {
  readonly attempts: readonly Attempt[];
  /** Shows a record in `Wire`. */
  readonly onrecord: (n: number) => void;
}

/** The attempts to connect, in order. */
export function Attempts({ attempts, onrecord }: AttemptsProps): JSX.Element {
  return (
    <ol class="attempts" aria-label="What was tried">
      {attempts.map(({ what, outcome, detail, duration, record }, at) => {
        const [text, kind] = OUTCOMES[outcome];
        return (
          <li key={at}>
            <span class={`badge ${kind}`}>{text}</span>
            <div>
              <code>
                <Visible text={what} />
              </code>
              {detail !== undefined && (
                <p class={outcome === 'failed' ? 'bad' : 'soft'}>
                  <Visible text={detail} lines />
                </p>
              )}
            </div>
            <span class="soft mono">{duration !== undefined && durationText(duration)}</span>
            {record !== undefined && (
              <button
                type="button"
                class="quiet"
                aria-label={visible(`Show “${what}” in Wire`)}
                onClick={() => onrecord(record)}
              >
                Wire
              </button>
            )}
          </li>
        );
      })}
    </ol>
  );
}
