import type { JSX } from 'preact';
import type { ConnectionState, InspectorState } from '../src/inspect/page-server/page-api.ts';
import type { Link } from './server/follow.ts';
import { serverName } from './server/server-name.ts';
import { switchTheme, theme } from './ui/color-theme.ts';
import { helpOpen } from './ui/help.tsx';
import { visible, Visible } from './ui/visible.tsx';

const STATUS: Readonly<Record<ConnectionState['status'], readonly [text: string, kind: string]>> = {
  idle: ['Not connected', 'soft'],
  connecting: ['Connecting', 'warn'],
  connected: ['Connected', 'good'],
  failed: ['Failed', 'bad'],
  closed: ['Closed', 'soft'],
};

interface PageHeadProps {
  readonly state: InspectorState;
  readonly link: Link;
}

/** What is inspected, the state of its connection, and the controls of the page. */
export function PageHead({ state, link }: PageHeadProps): JSX.Element {
  const { role, target, connection } = state;
  const name = serverName(connection.discovered ?? {});
  return (
    <div class="head-line">
      <h1>Everwire</h1>
      <div class="target">
        {name !== undefined && (
          <strong class="name" title={visible(name)}>
            <Visible text={name} />
          </strong>
        )}
        {target !== undefined && (
          <span class="name" title={visible(target)}>
            <Visible text={target} />
          </span>
        )}
      </div>
      <div class="connection">
        <Status role={role} connection={connection} link={link} />
      </div>
      <PageControls />
    </div>
  );
}

function Status({ role, connection, link }: Pick<InspectorState, 'role' | 'connection'> & { link: Link }): JSX.Element {
  // What the page knows of the connection may no longer be true.
  if (link.status === 'lost' || link.status === 'refused')
    return (
      <span class="status bad" role="status">
        Inspector lost
      </span>
    );
  if (role === 'recording') return <span class="badge">Recording</span>;
  if (role === 'observer') return <span class="badge">Observing</span>;
  const [text, kind] = STATUS[connection.status];
  return (
    <>
      {connection.revision !== undefined && <span class="badge">{connection.revision}</span>}
      {connection.transport !== undefined && <span class="badge transport">{connection.transport}</span>}
      <span class={`status ${kind}`} role="status">
        {text}
      </span>
    </>
  );
}

/** The controls of the page itself. */
function PageControls(): JSX.Element {
  const colors = `Colors: ${{ system: 'Auto', light: 'Light', dark: 'Dark' }[theme.value]}`;
  return (
    <div class="toolbar">
      <button type="button" class="quiet icon" aria-label={colors} title={colors} onClick={switchTheme}>
        <span class={`disc ${theme.value}`} aria-hidden="true" />
      </button>
      <button
        type="button"
        class="quiet icon"
        aria-label="Keyboard shortcuts"
        title="Keyboard shortcuts"
        onClick={() => {
          helpOpen.value = true;
        }}
      >
        ?
      </button>
    </div>
  );
}
