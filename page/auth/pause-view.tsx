import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { STEP_TITLES, type Pause, type Proceed } from '../../src/auth/steps/step.ts';
import { Visible } from '../ui/visible.tsx';
import { changedParameters, type Parameter } from './auth-fields.ts';

interface PauseViewProps {
  readonly pause: Pause;
  readonly onproceed: (proceed: Proceed) => void;
}

/** What comes next, and why a client would not do it. */
export function PauseView({ pause, onproceed }: PauseViewProps): JSX.Element {
  const { step, stopped, parameters = {} } = pause;
  const rows = useSignal<readonly Parameter[]>(Object.entries(parameters).map(([name, value]) => ({ name, value })));
  const next = useRef<HTMLButtonElement>(null);
  // The button of the step before had the focus. Where a client stops, Enter must not go on by accident.
  useEffect(() => {
    if (stopped === undefined) next.current!.focus();
  }, []);
  const set = (at: number, part: Partial<Parameter>): void => {
    rows.value = rows.value.map((row, index) => (index === at ? { ...row, ...part } : row));
  };
  return (
    <form
      class="pause"
      aria-label="Next step"
      onSubmit={(event) => {
        event.preventDefault();
        const changed = pause.parameters && changedParameters(parameters, rows.value);
        onproceed(changed ? { parameters: changed } : {});
      }}
    >
      {stopped !== undefined && (
        <div class="notice bad">
          <p>
            <strong>A client must stop here.</strong> <Visible text={stopped} />
          </p>
          <p>Continue only if you trust this server.</p>
        </div>
      )}
      {pause.parameters && (
        <fieldset>
          <legend>Parameters of the authorization request</legend>
          {rows.value.map(({ name, value }, at) => (
            <div class="header-row" key={at}>
              <input
                aria-label={`Name of parameter ${at + 1}`}
                spellcheck={false}
                value={name}
                onInput={({ currentTarget }) => set(at, { name: currentTarget.value })}
              />
              <input
                aria-label={name === '' ? `Value of parameter ${at + 1}` : `Value of ${name}`}
                spellcheck={false}
                value={value}
                onInput={({ currentTarget }) => set(at, { value: currentTarget.value })}
              />
              <button
                type="button"
                class="quiet"
                aria-label={`Remove ${name === '' ? `parameter ${at + 1}` : name}`}
                onClick={() => {
                  rows.value = rows.value.filter((_, index) => index !== at);
                }}
              >
                ×
              </button>
            </div>
          ))}
          <button
            type="button"
            onClick={() => {
              rows.value = [...rows.value, { name: '', value: '' }];
            }}
          >
            Add parameter
          </button>
        </fieldset>
      )}
      <p class="toolbar">
        <button type="submit" ref={next} class={stopped === undefined ? 'primary' : 'danger'}>
          {stopped === undefined ? 'Next' : 'Go on anyway'}: {STEP_TITLES[step]}
        </button>
      </p>
    </form>
  );
}
