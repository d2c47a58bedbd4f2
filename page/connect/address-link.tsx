import type { ComponentChildren, JSX } from 'preact';
import { Visible } from '../ui/visible.tsx';
import { addressOf } from './address.ts';

interface AddressLinkProps {
  readonly url: string;
  /** The text of the link. */
  readonly action?: string;
  readonly onopen?: (() => void) | undefined;
  /** Other controls beside the link. */
  readonly children?: ComponentChildren;
}

/**
 * A URL that the server chose: the whole URL, its host, and the host in Unicode if it has letters outside ASCII. It
 * opens only on a click, in a new tab that cannot reach this page.
 */
export function AddressLink({ url, action = 'Open', onopen, children }: AddressLinkProps): JSX.Element {
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
              , which reads{' '}
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
          <a
            class="open"
            href={href}
            target="_blank"
            rel="noopener noreferrer"
            onClick={onopen}
            // A middle click opens it, too.
            onAuxClick={({ button }) => button === 1 && onopen?.()}
          >
            {action}
          </a>
          <span class="soft">in a new tab</span>
          {children}
        </p>
      )}
    </div>
  );
}
