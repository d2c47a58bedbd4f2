import type { JSX } from 'preact';
import type { Rule } from '../../src/inspect/breakpoints/breakpoint-api.ts';
import { Visible, visible } from '../ui/visible.tsx';
import type { BreakpointView } from './breakpoint-view.ts';
import { actionText } from './rule-form.tsx';

/** The rules, in the order in which they are tried. */
export function RuleList({ view }: { view: BreakpointView }): JSX.Element {
  const rules = view.state?.rules ?? [];
  if (rules.length === 0)
    return <p class="soft">No rules. Add one here, or with “Break on messages like this” in Wire.</p>;
  return (
    <ul class="rules" aria-label="Rules">
      {rules.map((rule) => (
        <li key={rule.id}>
          <RuleRow view={view} rule={rule} />
        </li>
      ))}
    </ul>
  );
}

function RuleRow({ view, rule }: { view: BreakpointView; rule: Rule }): JSX.Element {
  const { id, filter, action, enabled, nth, matches } = rule;
  const name = filter.trim() === '' ? 'every message' : filter;
  const about = visible(`${actionText(action)}, ${name}`);
  return (
    <>
      <label class="inline rule-name">
        <input
          type="checkbox"
          role="switch"
          aria-label={`Rule on: ${about}`}
          checked={enabled}
          onChange={({ currentTarget }) => view.switchRule(rule, currentTarget.checked)}
        />
        <span class="badge">{actionText(action)}</span>
        <code>
          <Visible text={name} />
        </code>
      </label>
      <span class="soft">
        {nth !== undefined && `match ${nth} only, `}
        {matches} matched
      </span>
      <span class="toolbar">
        <button
          type="button"
          aria-label={`Change rule: ${about}`}
          onClick={() => {
            view.edit(rule);
            document.getElementById('rule-filter')?.focus();
          }}
        >
          Change
        </button>
        <button
          type="button"
          aria-label={`Remove rule: ${about}`}
          onClick={() => view.run(view.server.send('removeRule', { id }))}
        >
          Remove
        </button>
      </span>
    </>
  );
}
