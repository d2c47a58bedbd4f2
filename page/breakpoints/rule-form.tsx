import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { RuleAction } from '../../src/inspect/breakpoints/breakpoint-api.ts';
import { Visible } from '../ui/visible.tsx';
import type { BreakpointView } from './breakpoint-view.ts';

/** What the actions do, as the user chooses them. */
const ACTIONS: Readonly<Record<RuleAction['type'], string>> = {
  hold: 'Hold',
  delay: 'Delay',
  duplicate: 'Send twice',
  reorder: 'Let the next one overtake',
  drop: 'Drop',
  kill: 'Kill the server',
  corrupt: 'Corrupt the response',
  cut: 'Cut the response off',
  status: 'Answer with a status',
};

/** What else an action needs. */
const AMOUNTS: Partial<Readonly<Record<RuleAction['type'], string>>> = {
  delay: 'Milliseconds',
  cut: 'After bytes',
  status: 'Status',
};

/** What a rule does, in words. */
export function actionText(action: RuleAction): string {
  const name = ACTIONS[action.type];
  if (action.type === 'delay') return `${name}: ${action.ms} ms`;
  if (action.type === 'cut') return `${name}: after ${action.bytes} bytes`;
  return action.type === 'status' ? `${name}: ${action.status}` : name;
}

/** The form for a new rule, or for one that is changed. */
export function RuleForm({ view }: { view: BreakpointView }): JSX.Element {
  const id = useId();
  const { draft } = view;
  const { filter, type, amount, nth, problem } = draft;
  const amountLabel = AMOUNTS[type.value];
  const isNew = draft.id.value === undefined;
  return (
    <form
      class="rule-form"
      aria-label="Rule"
      onSubmit={(event) => {
        event.preventDefault();
        void view.setRule();
      }}
    >
      <label class="rule-filter">
        Filter
        <input
          id="rule-filter"
          value={filter.value}
          spellcheck={false}
          autocomplete="off"
          placeholder="method:tools/call kind:request"
          aria-describedby={problem.value === undefined ? undefined : `${id}-problem`}
          onInput={({ currentTarget }) => {
            filter.value = currentTarget.value;
          }}
        />
      </label>
      <label>
        Action
        <select
          value={type.value}
          onChange={({ currentTarget }) => {
            type.value = currentTarget.value as RuleAction['type'];
            amount.value = type.value === 'status' ? '500' : '';
          }}
        >
          {view.state?.actions.map((each) => (
            <option key={each} value={each}>
              {ACTIONS[each]}
            </option>
          ))}
        </select>
      </label>
      {amountLabel !== undefined && (
        <label>
          {amountLabel}
          {type.value === 'status' ? (
            <select
              value={amount.value}
              onChange={({ currentTarget }) => {
                amount.value = currentTarget.value;
              }}
            >
              <option value="500">500</option>
              <option value="404">404, ends the session</option>
            </select>
          ) : (
            <input
              type="number"
              min={0}
              required
              value={amount.value}
              onInput={({ currentTarget }) => {
                amount.value = currentTarget.value;
              }}
            />
          )}
        </label>
      )}
      <label>
        Only match number
        <input
          type="number"
          min={1}
          placeholder="each"
          value={nth.value}
          onInput={({ currentTarget }) => {
            nth.value = currentTarget.value;
          }}
        />
      </label>
      <p class="toolbar">
        <button type="submit" class="primary">
          {isNew ? 'Add rule' : 'Save rule'}
        </button>
        {!isNew && (
          <button type="button" onClick={() => view.clear()}>
            Cancel
          </button>
        )}
      </p>
      {problem.value !== undefined && (
        <p class="notice bad" role="alert" id={`${id}-problem`}>
          <Visible text={problem.value} />
        </p>
      )}
    </form>
  );
}
