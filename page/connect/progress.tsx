import type { JSX } from 'preact';
import type { Problem, Step } from '../../src/inspect/page-server/page-api.ts';
import type { Explorer } from '../explore/explorer.ts';
import { toast } from '../ui/toast.tsx';
import { Visible } from '../ui/visible.tsx';
import { AddressLink } from './address-link.tsx';
import { Attempts } from './attempts.tsx';

const STEPS: Readonly<Record<Step, string>> = {
  command: 'The command failed',
  dns: 'The host name was not found',
  connect: 'The connection failed',
  tls: 'The TLS connection failed',
  login: 'A login is required',
  http: 'The server refused the request',
  revision: 'No common protocol revision',
  silence: 'The server did not answer',
  output: 'The command wrote output that is not MCP',
};

/** The progress of connecting, and if it failed, why and what the user can do about it. */
export function Progress({ explorer }: { explorer: Explorer }): JSX.Element {
  const { target, connection } = explorer.state.value;
  const { status, attempts, problem, login, stderr } = connection;
  const cancel = (): void => {
    explorer.server.send('disconnect', {}).catch((error: unknown) => toast((error as Error).message, 'bad'));
  };
  return (
    <section class="progress" aria-label="Progress of connecting">
      <p class="toolbar" role="status">
        <span>
          {HEADS[status]}{' '}
          <strong>
            <Visible text={target ?? 'the server'} />
          </strong>
        </span>
        {status === 'connecting' && (
          <button type="button" class="danger" onClick={cancel}>
            Cancel
          </button>
        )}
      </p>
      {problem && <ProblemView problem={problem} />}
      {login && (
        <div class="notice warn login">
          <p>
            <strong>The server requires a login.</strong> Check the URL before you open it.
          </p>
          <AddressLink url={login.url} action="Open the login page" />
        </div>
      )}
      {attempts.length > 0 && <Attempts attempts={attempts} onrecord={explorer.showRecord} />}
      {stderr.length > 0 && status !== 'connected' && (
        <>
          <h3>Last lines of stderr</h3>
          <pre class="block" tabIndex={0}>
            <Visible text={stderr.join('\n')} lines max={100_000} />
          </pre>
        </>
      )}
    </section>
  );
}

const HEADS = {
  idle: '',
  connecting: 'Connecting to',
  connected: 'Connected to',
  failed: 'Could not connect to',
  closed: 'The connection ended:',
} as const;

function ProblemView({ problem }: { problem: Problem }): JSX.Element {
  const { step, message, advice } = problem;
  return (
    <div class="notice bad" role="alert">
      {step !== undefined && (
        <p>
          <strong>{STEPS[step]}</strong>
        </p>
      )}
      <p>
        <Visible text={message} lines />
      </p>
      {advice !== undefined && (
        <p class="advice">
          <Visible text={advice} lines />
        </p>
      )}
    </div>
  );
}
