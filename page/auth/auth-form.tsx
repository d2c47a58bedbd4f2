import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { AuthorizationCommand, TargetChoice } from '../../src/inspect/page-server/page-api.ts';
import { AUTHORIZED_REVISIONS, type AuthorizedRevision } from '../../src/auth/steps/step.ts';
import { visible } from '../ui/visible.tsx';
import { authCommand, EMPTY, type AuthFields } from './auth-fields.ts';

/** The typed values are kept while another screen is shown. */
const fields = signal<AuthFields>(EMPTY);
const problem = signal<string | undefined>(undefined);

function change(part: Partial<AuthFields>): void {
  fields.value = { ...fields.value, ...part };
  problem.value = undefined;
}

interface AuthFormProps {
  readonly choices: readonly TargetChoice[];
  readonly onstart: (command: AuthorizationCommand) => void;
}

/** The server, and how to go through its authorization. */
export function AuthForm({ choices, onstart }: AuthFormProps): JSX.Element {
  const id = useId();
  const { choice, url, revision } = fields.value;
  const servers = choices.filter(({ detail }) => /^https?:/.test(detail));
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    const checked = authCommand(fields.value);
    if ('problem' in checked) problem.value = checked.problem;
    else onstart(checked.command);
  };
  return (
    <form class="auth-form" noValidate onSubmit={onSubmit}>
      {servers.length > 0 && (
        <label>
          Server
          <select value={choice} onChange={({ currentTarget }) => change({ choice: currentTarget.value })}>
            <option value="">Another URL</option>
            {servers.map((each) => (
              <option key={each.id} value={each.id}>
                {visible(`${each.name} (${each.source})`)}
              </option>
            ))}
          </select>
        </label>
      )}
      {choice === '' && (
        <label>
          URL of the server
          <input
            type="url"
            placeholder="https://example.com/mcp"
            spellcheck={false}
            value={url}
            aria-invalid={problem.value !== undefined}
            aria-describedby={problem.value === undefined ? undefined : `${id}-problem`}
            onInput={({ currentTarget }) => change({ url: currentTarget.value })}
          />
        </label>
      )}
      {problem.value !== undefined && (
        <p class="bad" role="alert" id={`${id}-problem`}>
          {problem.value}
        </p>
      )}
      <label>
        Rules of
        <select
          value={revision}
          onChange={({ currentTarget }) => change({ revision: currentTarget.value as AuthorizedRevision })}
        >
          {AUTHORIZED_REVISIONS.toReversed().map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <details>
        <summary>Client, scopes and step-up</summary>
        <div class="auth-options">
          <Field name="clientId" label="Client id, if it is registered" />
          <Field name="clientSecret" label="Client secret" secret />
          <Field name="clientMetadataUrl" label="URL of a Client ID Metadata Document" />
          <Field name="scope" label="Scopes, separated by spaces" />
          <Field name="tool" label="Tool that needs more scopes" />
          <Field name="args" label="Its arguments as JSON" />
        </div>
      </details>
      <p class="toolbar">
        <button type="submit" class="primary">
          Start
        </button>
        <span class="soft">No token is stored.</span>
      </p>
    </form>
  );
}

type TextField = Exclude<keyof AuthFields, 'choice' | 'revision' | 'url'>;

function Field({ name, label, secret = false }: { name: TextField; label: string; secret?: boolean }): JSX.Element {
  return (
    <label>
      {label}
      <input
        type={secret ? 'password' : 'text'}
        spellcheck={false}
        autocomplete="off"
        value={fields.value[name]}
        onInput={({ currentTarget }) => change({ [name]: currentTarget.value })}
      />
    </label>
  );
}
