import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { ConnectCommand } from '../../src/inspect/page-server/page-api.ts';
import { LEGACY_REVISIONS, MODERN_REVISIONS } from '../../src/protocol/revisions.ts';
import { connectCommand, revisionOf, type ConnectFields, type FieldProblem, type HeaderRow } from './connect-fields.ts';
import { HeaderRows } from './header-rows.tsx';

const REVISIONS = [...MODERN_REVISIONS, ...LEGACY_REVISIONS.toReversed()];

/** The typed values are kept while another screen is shown. */
const fields = signal<ConnectFields>({ url: '', headers: [], revision: '', transport: '' });
const problem = signal<FieldProblem | undefined>(undefined);

function change(part: Partial<ConnectFields>): void {
  fields.value = { ...fields.value, ...part };
  problem.value = undefined;
}

/** The command for a configured server. */
export function choiceCommand(choice: string): ConnectCommand {
  return { choice, ...revisionOf(fields.value) };
}

/** The choice of a revision, for all servers. */
export function RevisionChoice(): JSX.Element {
  return (
    <label class="inline">
      Revision
      <select value={fields.value.revision} onChange={({ currentTarget }) => change({ revision: currentTarget.value })}>
        <option value="">Auto</option>
        {REVISIONS.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
    </label>
  );
}

/** A URL, and how to connect to it. */
export function ConnectForm({ onconnect }: { onconnect: (command: ConnectCommand) => void }): JSX.Element {
  const id = useId();
  const { url, headers, transport } = fields.value;
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    const checked = connectCommand(fields.value);
    if ('problem' in checked) problem.value = checked.problem;
    else onconnect(checked.command);
  };
  const isWrong = problem.value?.field === 'url';
  return (
    <form class="connect-form" noValidate onSubmit={onSubmit}>
      <div class="url">
        <label for={`${id}-url`}>URL</label>
        <input
          id={`${id}-url`}
          type="url"
          placeholder="https://example.com/mcp"
          spellcheck={false}
          value={url}
          aria-invalid={isWrong}
          aria-describedby={isWrong ? `${id}-problem` : undefined}
          onInput={({ currentTarget }) => change({ url: currentTarget.value })}
        />
        <button type="submit" class="primary">
          Connect
        </button>
      </div>
      {problem.value && (
        <p class="bad" role="alert" id={`${id}-problem`}>
          {problem.value.message}
        </p>
      )}
      <div class="options">
        <label>
          Transport
          <select value={transport} onChange={({ currentTarget }) => change({ transport: currentTarget.value })}>
            <option value="">Auto</option>
            <option value="streamable-http">Streamable HTTP</option>
            <option value="sse">HTTP+SSE</option>
          </select>
        </label>
      </div>
      <HeaderRows rows={headers} onchange={(rows: readonly HeaderRow[]) => change({ headers: rows })} />
    </form>
  );
}
