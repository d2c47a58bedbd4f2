const TASK_ID = /^([a-z0-9.-]+):(.*)$/s;
const STATE = /^([a-z0-9.-]+)([:!])(.*)$/s;

/** The id of a server's task outside: `notes:4711`. */
export function taskIdOf(label: string, id: string): string {
  return `${label}:${id}`;
}

/** Takes the id of a task apart. */
export function splitTaskId(taskId: unknown): { readonly label: string; readonly id: string } | undefined {
  const [, label, id] = typeof taskId === 'string' ? (TASK_ID.exec(taskId) ?? []) : [];
  return label === undefined || id === undefined ? undefined : { label, id };
}

/** What a caller carries between the rounds of a request, with the server that it leads back to. */
export function stateOf(label: string, state: string | undefined): string {
  return state === undefined ? `${label}!` : `${label}:${state}`;
}

/** Takes a state apart; its server's own is undefined where that gave none. */
export function splitState(
  requestState: unknown,
): { readonly label: string; readonly state: string | undefined } | undefined {
  const [, label, kind, state] = typeof requestState === 'string' ? (STATE.exec(requestState) ?? []) : [];
  if (label === undefined || (kind === '!' && state !== '')) return undefined;
  return { label, state: kind === '!' ? undefined : state };
}
