import type { ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { InspectorState, PageCommands } from '../../src/inspect/page-server/page-api.ts';
import { STEP_TITLES } from '../../src/auth/steps/step.ts';
import { AddressLink } from '../connect/address-link.tsx';
import { ObserverNote } from '../explore/observer-note.tsx';
import type { Server } from '../server/server.ts';
import { toast } from '../ui/toast.tsx';
import { Visible } from '../ui/visible.tsx';
import { AuthForm } from './auth-form.tsx';
import { PauseView } from './pause-view.tsx';
import { StepView } from './step-view.tsx';

interface AuthScreenProps {
  readonly server: Server;
  readonly state: ReadonlySignal<InspectorState>;
}

/** Goes through the authorization of a server, one step after another. */
export function AuthScreen({ server, state }: AuthScreenProps): JSX.Element {
  const { role, choices, authorization } = state.value;
  if (role !== 'client') return <ObserverNote role={role} />;
  const send = <Name extends keyof PageCommands>(name: Name, argument: Parameters<PageCommands[Name]>[0]): void => {
    server.send(name, argument).catch((error: unknown) => toast((error as Error).message, 'bad'));
  };
  const isGoingOn = authorization !== undefined && !authorization.isOver;
  return (
    <div class="auth">
      <h2>Authorization, step by step</h2>
      {!isGoingOn && <AuthForm choices={choices} onstart={(command) => send('startAuthorization', command)} />}
      {authorization && (
        <section aria-label="Steps" class="steps">
          <p class="toolbar">
            <span>
              <strong>
                <Visible text={authorization.target} />
              </strong>{' '}
              by the rules of {authorization.revision}
            </span>
            {isGoingOn && (
              <button type="button" class="danger" onClick={() => send('endAuthorization', {})}>
                End
              </button>
            )}
          </p>
          <ol>
            {authorization.steps.map((step) => (
              <StepView key={step.id} step={step} />
            ))}
          </ol>
          {authorization.running !== undefined && <p class="soft">{STEP_TITLES[authorization.running]} …</p>}
          {authorization.login && (
            <div class="notice warn login">
              <p>
                <strong>Log in at the authorization server.</strong> Check the URL before you open it.
              </p>
              <AddressLink url={authorization.login.url} action="Open the login page" />
            </div>
          )}
          {authorization.pause && (
            <PauseView
              key={authorization.steps.length}
              pause={authorization.pause}
              onproceed={(proceed) => send('proceedAuthorization', proceed)}
            />
          )}
          <p role="status" class={authorization.isOver ? undefined : 'visually-hidden'}>
            {statusOf(authorization)}
          </p>
        </section>
      )}
    </div>
  );
}

/** What a screen reader says after each step. */
function statusOf({ steps, isOver, login }: NonNullable<InspectorState['authorization']>): string {
  const checks = steps.flatMap((step) => step.checks);
  const failed = checks.filter(({ status }) => status === 'failed').length;
  const warnings = checks.filter(({ status }) => status === 'warning').length;
  const counts = `${checks.length} checks, ${failed} failed, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`;
  if (isOver) return `Finished after ${steps.length} ${steps.length === 1 ? 'step' : 'steps'}: ${counts}.`;
  return login ? 'A login waits for you.' : `Steps so far: ${steps.length}. ${counts}.`;
}
