import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { isObject, type JsonObject } from '../../src/jsonrpc/message.ts';
import { FormModel } from '../form/form-model.ts';
import { FormMistakes, SchemaForm } from '../form/schema-form.tsx';
import { Calls } from './call-view.tsx';
import { EntryHead } from './entry-head.tsx';
import type { Entry } from './entry-list.ts';
import type { Explorer, Session } from './explorer.ts';

/** The properties of a view of one list entry. */
export interface DetailProps {
  readonly explorer: Explorer;
  readonly session: Session;
  readonly id: string;
  /** Undefined if no list contains it. */
  readonly entry: Entry | undefined;
}

/** Milliseconds without an answer or progress. */
const TIMEOUT = 60_000;

/** A tool: what it is, its arguments, and what its calls returned. */
export function ToolView({ explorer, session, id, entry }: DetailProps): JSX.Element {
  const schema: unknown = entry?.raw['inputSchema'];
  const form = useMemo(
    () => session.drafts.get(`tool ${id} ${JSON.stringify(schema)}`, () => new FormModel(schema)),
    [session, id, schema],
  );
  const options = session.drafts.get(`options ${id}`, () => ({ seconds: TIMEOUT / 1000, asTask: false }));
  const seconds = useSignal(options.seconds);
  const taskSupport = taskSupportOf(explorer, entry);
  const asTask = useSignal(taskSupport === 'required' || options.asTask);
  const send = (json: string): void => {
    const task = asTask.value ? ',"task":{}' : '';
    const params = `{"name":${JSON.stringify(id)},"arguments":${json}${task}}`;
    session.call(`tool ${id}`, 'tools/call', params, seconds.value * 1000);
  };
  const call = (event: Event): void => {
    event.preventDefault();
    const json = form.submit();
    if (json !== undefined) send(json);
  };
  return (
    <>
      <EntryHead id={id} entry={entry}>
        <Hints annotations={entry?.raw['annotations']} />
      </EntryHead>
      <form
        class="call"
        noValidate
        onSubmit={call}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) call(event);
        }}
      >
        <SchemaForm form={form} label="Arguments" />
        <FormMistakes form={form} label="Call anyway" onSend={send} />
        <p class="toolbar">
          <button type="submit" class="primary">
            Call
          </button>
          <label class="inline">
            Timeout
            <input
              type="number"
              min="0"
              step="any"
              class="number"
              value={seconds.value}
              onInput={({ currentTarget }) => {
                const value = currentTarget.valueAsNumber;
                if (value >= 0) options.seconds = seconds.value = value;
              }}
            />
            s
          </label>
          {taskSupport !== 'forbidden' && (
            <label class="inline">
              <input
                type="checkbox"
                checked={asTask.value}
                disabled={taskSupport === 'required'}
                onChange={({ currentTarget }) => {
                  options.asTask = asTask.value = currentTarget.checked;
                }}
              />
              As a task
            </label>
          )}
        </p>
      </form>
      <Calls
        explorer={explorer}
        session={session}
        entry={`tool ${id}`}
        name={id}
        outputSchema={entry?.raw['outputSchema']}
      />
    </>
  );
}

/** Whether the call may become a task because the client asks for it, which only 2025-11-25 has. */
function taskSupportOf({ state }: Explorer, entry: Entry | undefined): 'forbidden' | 'optional' | 'required' {
  const support: unknown = entry?.raw['execution']?.['taskSupport'];
  const { revision, discovered } = state.value.connection;
  const tasks: unknown = (discovered?.['capabilities'] as JsonObject | undefined)?.['tasks'];
  if (revision !== '2025-11-25' || !isObject(tasks)) return 'forbidden';
  return support === 'optional' || support === 'required' ? support : 'forbidden';
}

const HINTS: readonly (readonly [name: string, yes: string, no: string])[] = [
  ['readOnlyHint', 'read-only', 'changes things'],
  ['destructiveHint', 'destructive', 'not destructive'],
  ['idempotentHint', 'idempotent', 'not idempotent'],
  ['openWorldHint', 'open world', 'closed world'],
];

/** What the tool says about its effects. Nobody has checked it. */
function Hints({ annotations }: { annotations: unknown }): JSX.Element | null {
  if (!isObject(annotations)) return null;
  return (
    <>
      {HINTS.map(([name, yes, no]) => {
        const hint: unknown = annotations[name];
        return typeof hint === 'boolean' ? (
          <span
            class={name === 'destructiveHint' && hint ? 'badge warn' : 'badge'}
            key={name}
            title={`${name}: ${hint}, says the server`}
          >
            {hint ? yes : no}
          </span>
        ) : null;
      })}
    </>
  );
}
