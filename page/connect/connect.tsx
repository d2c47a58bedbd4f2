import type { JSX } from 'preact';
import type { ConnectCommand, TargetChoice } from '../../src/inspect/page-server/page-api.ts';
import type { Explorer } from '../explore/explorer.ts';
import { toast } from '../ui/toast.tsx';
import { Visible } from '../ui/visible.tsx';
import { choiceCommand, ConnectForm, RevisionChoice } from './connect-form.tsx';
import { Progress } from './progress.tsx';

/** The form for connecting to a server, and the progress of connecting. */
export function ConnectScreen({ explorer }: { explorer: Explorer }): JSX.Element {
  const { choices, connection } = explorer.state.value;
  const connect = (command: ConnectCommand): void => {
    explorer.server.send('connect', command).catch((error: unknown) => toast((error as Error).message, 'bad'));
  };
  return (
    <div class="connect">
      <div class="connect-head">
        <h2>Connect to a server</h2>
        <RevisionChoice />
      </div>
      {connection.status !== 'idle' && <Progress explorer={explorer} />}
      {choices.length > 0 && (
        <section aria-labelledby="choices">
          <h3 id="choices">Your servers</h3>
          <ul class="choices">
            {choices.map((choice) => (
              <Choice key={choice.id} choice={choice} onchoose={() => connect(choiceCommand(choice.id))} />
            ))}
          </ul>
        </section>
      )}
      <section aria-labelledby="other">
        <h3 id="other">Another server</h3>
        <ConnectForm onconnect={connect} />
      </section>
      <p class="soft">
        To inspect a command, run <code>everwire inspect -- node server.js</code>, or add the command to an mcp.json.
      </p>
    </div>
  );
}

function Choice({ choice, onchoose }: { choice: TargetChoice; onchoose: () => void }): JSX.Element {
  const { name, source, detail } = choice;
  return (
    <li>
      <button type="button" class="entry" onClick={onchoose}>
        <span class="entry-label">
          <Visible text={name} />
        </span>
        <span class="badge">
          <Visible text={source} />
        </span>
        <code>
          <Visible text={detail} />
        </code>
      </button>
    </li>
  );
}
