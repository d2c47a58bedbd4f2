import type { JSX } from 'preact';
import type { Explorer } from '../explore/explorer.ts';
import { TaskState } from '../explore/task-panel.tsx';
import { Visible } from '../ui/visible.tsx';

/** The tasks that were created by calls of this page. */
export function Tasks({ explorer }: { explorer: Explorer }): JSX.Element {
  const tasks = explorer.session.value?.tasks.value ?? [];
  if (tasks.length === 0) return <p class="empty">No tasks. A call that becomes a task appears here.</p>;
  return (
    <ul class="questions" aria-label="Tasks">
      {tasks.map((task) => (
        <li class="card" key={task.id}>
          <h3>
            <Visible text={task.call} />
          </h3>
          <TaskState task={task} />
        </li>
      ))}
    </ul>
  );
}
