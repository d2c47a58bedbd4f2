import type { JSX } from 'preact';
import { serverInfo, serverName } from '../server/server-name.ts';
import { toast } from '../ui/toast.tsx';
import { Visible } from '../ui/visible.tsx';
import { AddressLink } from '../connect/address-link.tsx';
import { Attempts } from '../connect/attempts.tsx';
import { textOf } from './entry-list.ts';
import type { Explorer } from './explorer.ts';
import { JsonView } from './json-view.tsx';
import { Text } from './text.tsx';

/** What the server says about itself, and how it was connected. */
export function ServerInfo({ explorer }: { explorer: Explorer }): JSX.Element {
  const { connection, target } = explorer.state.value;
  const { discovered = {}, revision, transport, attempts, stderr } = connection;
  const info = serverInfo(discovered);
  const instructions = textOf(discovered['instructions']);
  const disconnect = (): void => {
    explorer.server.send('disconnect', {}).catch((error: unknown) => toast((error as Error).message, 'bad'));
  };
  return (
    <div class="server-info">
      <section>
        <h2>
          <Visible text={serverName(discovered) ?? 'The server has no name'} />
        </h2>
        <dl>
          <Row name="Name" value={info['name']} />
          <Row name="Version" value={info['version']} />
          <Row name="Revision" value={revision} />
          <Row name="Transport" value={transport} />
          <Row name="Target" value={target} />
          <Row name="Description" value={info['description']} />
        </dl>
        {typeof info['websiteUrl'] === 'string' && <AddressLink url={info['websiteUrl']} />}
        <p class="toolbar">
          <button type="button" onClick={disconnect}>
            Disconnect
          </button>
        </p>
      </section>
      {instructions !== undefined && (
        <section>
          <h3>Instructions</h3>
          <Text text={instructions} name="instructions.md" />
        </section>
      )}
      <section>
        <h3>Capabilities</h3>
        <JsonView value={discovered['capabilities'] ?? {}} label="Capabilities" />
      </section>
      <section>
        <h3>Connection attempts</h3>
        <Attempts attempts={attempts} onrecord={explorer.showRecord} />
      </section>
      {stderr.length > 0 && (
        <section>
          <h3>Last lines of stderr</h3>
          <pre class="block" tabIndex={0}>
            <Visible text={stderr.join('\n')} lines max={100_000} />
          </pre>
        </section>
      )}
    </div>
  );
}

function Row({ name, value }: { name: string; value: unknown }): JSX.Element | null {
  if (typeof value !== 'string') return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <Visible text={value} lines />
      </dd>
    </>
  );
}
