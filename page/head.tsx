import type { JSX } from 'preact';
import type { ConnectionState, InspectorState } from '../src/inspect/page-server/page-api.ts';
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

/** What is inspected, and the state of its connection. */
export function Target({ state }: { readonly state: InspectorState }): JSX.Element {
  const { role, target, connection } = state;
  const name = serverName(connection.discovered ?? {});
  return (
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
      <Status role={role} connection={connection} />
    </div>
  );
}

function Status({ role, connection }: Pick<InspectorState, 'role' | 'connection'>): JSX.Element {
  if (role === 'recording') return <span class="badge">Recording</span>;
  if (role === 'observer') return <span class="badge">Observing</span>;
  const [text, kind] = STATUS[connection.status];
  return (
    <>
      {connection.revision !== undefined && <span class="badge">{connection.revision}</span>}
      {connection.transport !== undefined && <span class="badge">{connection.transport}</span>}
      <span class={`status ${kind}`} role="status">
        {text}
      </span>
    </>
  );
}

/** The controls of the page itself. */
export function PageControls(): JSX.Element {
  const colors = { system: 'Auto', light: 'Light', dark: 'Dark' }[theme.value];
  return (
    <div class="toolbar">
      <button type="button" class="quiet" onClick={switchTheme}>
        Colors: {colors}
      </button>
      <button
        type="button"
        class="quiet"
        aria-label="Keyboard shortcuts"
        onClick={() => {
          helpOpen.value = true;
        }}
      >
        ?
      </button>
    </div>
  );
}
