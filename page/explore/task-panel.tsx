import type { JSX } from 'preact';
import { isTerminal, type TaskStatus } from '../../src/protocol/tasks.ts';
import { Visible } from '../ui/visible.tsx';
import { OutcomeView } from './outcome-view.tsx';
import type { FollowedTask } from './task.ts';

const KIND: Readonly<Record<TaskStatus, string>> = {
  working: 'warn',
  input_required: 'warn',
  completed: 'good',
  failed: 'bad',
  cancelled: '',
};

interface TaskPanelProps {
  readonly task: FollowedTask;
  readonly name: string;
  readonly outputSchema?: unknown;
  readonly onread?: ((uri: string) => void) | undefined;
}

/** A task of the server, updated while it runs. */
export function TaskPanel({ task, name, outputSchema, onread }: TaskPanelProps): JSX.Element {
  const { outcome } = task.view.value;
  return (
    <>
      <TaskState task={task} />
      {outcome && <OutcomeView outcome={outcome} name={name} outputSchema={outputSchema} onread={onread} />}
    </>
  );
}

/** The status of a task, and what the user can do about it. */
export function TaskState({ task }: { task: FollowedTask }): JSX.Element {
  const { id, status, message, lost, questions, outcome } = task.view.value;
  const asked = Object.keys(questions).length;
  return (
    <div class="task">
      <p class="toolbar">
        <span class={`badge ${KIND[status]}`} role="status">
          {status.replace('_', ' ')}
        </span>
        <span>
          Task{' '}
          <code>
            <Visible text={id} />
          </code>
        </span>
        {!isTerminal(status) && !outcome && (
          <button type="button" class="danger" onClick={() => task.cancel()}>
            Cancel task
          </button>
        )}
        {lost !== undefined && (
          <button type="button" onClick={() => task.refresh()}>
            Refresh
          </button>
        )}
      </p>
      {message !== undefined && (
        <p>
          <Visible text={message} lines />
        </p>
      )}
      {asked > 0 && <p class="notice warn">The task waits for an answer. Answer it in Asked.</p>}
      {lost !== undefined && (
        <p class="notice bad">
          This page no longer follows the task: <Visible text={lost} />
        </p>
      )}
    </div>
  );
}
