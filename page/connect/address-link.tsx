import type { JSX } from 'preact';
import { Visible } from '../ui/visible.tsx';
import { addressOf } from './address.ts';

interface AddressLinkProps {
  readonly url: string;
  /** What the link says. */
  readonly action?: string;
  readonly onopen?: (() => void) | undefined;
}

/**
 * An address of somebody else: whole, with its host, and what the host spells. It opens by a click only, in a tab that
 * cannot reach this page.
 */
export function AddressLink({ url, action = 'Open', onopen }: AddressLinkProps): JSX.Element {
  const address = addressOf(url);
  if (!address) {
    return (
      <p class="address">
        <code>
          <Visible text={url} />
        </code>
      </p>
    );
  }
  const { href, host, spelled, opens, warnings } = address;
  return (
    <div class="address">
      <p>
        <code>
          <Visible text={href} />
        </code>
      </p>
      {opens && (
        <p>
          Host <strong class="mono">{host}</strong>
          {spelled !== undefined && (
            <>
              , which spells{' '}
              <strong>
                <bdi>
                  <Visible text={spelled} />
                </bdi>
              </strong>
            </>
          )}
        </p>
      )}
      {warnings.map((warning) => (
        <p class="notice warn" key={warning}>
          {warning}
        </p>
      ))}
      {opens && (
        <p class="toolbar">
          <a class="open" href={href} target="_blank" rel="noopener noreferrer" onClick={onopen}>
            {action}
          </a>
          <span class="soft">in a new tab</span>
        </p>
      )}
    </div>
  );
}
