import type { JSX } from 'preact';
import {
  STEPS,
  type CheckResult,
  type CheckStatus,
  type ExchangeRecord,
  type ResponseRecord,
  type StepRecord,
} from '../../src/auth/steps/step.ts';
import { Disclosure } from '../explore/disclosure.tsx';
import { Visible } from '../ui/visible.tsx';

const OUTCOMES: Readonly<Record<StepRecord['outcome'], string>> = { done: 'good', stopped: 'bad', skipped: '' };
const STATUSES: Readonly<Record<CheckStatus, string>> = {
  passed: 'good',
  failed: 'bad',
  warning: 'warn',
  'not applicable': '',
};

/** A step: what came out of it, its requests, and its checks. */
export function StepView({ step }: { readonly step: StepRecord }): JSX.Element {
  const { id, title, outcome, note, exchanges, checks } = step;
  const problems = checks.filter(({ status }) => status === 'failed' || status === 'warning');
  return (
    <li class="card" aria-label={title}>
      <div class="toolbar">
        <h3>
          {STEPS.indexOf(id) + 1}. {title}
        </h3>
        <span class={`badge ${OUTCOMES[outcome]}`}>{outcome}</span>
      </div>
      <p>
        <Visible text={note} />
      </p>
      {exchanges.map((exchange, at) => (
        <ExchangeView key={at} exchange={exchange} />
      ))}
      {problems.length > 0 && <Checks checks={problems} />}
      {(['passed', 'not applicable'] as const).map((status) => {
        const others = checks.filter((check) => check.status === status);
        return (
          others.length > 0 && (
            <Disclosure key={status} title={`${others.length} ${status}`}>
              {() => <Checks checks={others} />}
            </Disclosure>
          )
        );
      })}
    </li>
  );
}

function Checks({ checks }: { readonly checks: readonly CheckResult[] }): JSX.Element {
  return (
    <ul class="auth-checks">
      {checks.map(({ id, status, seen, right, clause, url, rfc }) => (
        <li key={id}>
          <span class={`badge ${STATUSES[status]}`}>{status}</span>
          <div>
            <p>
              <code>{id}</code> {right}
            </p>
            {seen !== undefined && (
              <p class={status === 'not applicable' ? 'soft' : STATUSES[status]}>
                Seen: <Visible text={seen} />
              </p>
            )}
            <p class="soft">
              {url !== undefined && (
                <a href={url} target="_blank" rel="noopener noreferrer">
                  {clause}
                </a>
              )}
              {url !== undefined && rfc !== undefined && ' · '}
              {rfc}
            </p>
          </div>
        </li>
      ))}
    </ul>
  );
}

function ExchangeView({ exchange }: { readonly exchange: ExchangeRecord }): JSX.Element {
  const { sender, method, url, headers, body, response, problem, duration } = exchange;
  const result = problem ?? response?.status;
  return (
    <details class="auth-exchange">
      <summary>
        <code>
          {sender === 'browser' && 'browser: '}
          {method} <Visible text={url.replace(/\?.*/s, '?…')} />
        </code>{' '}
        {result !== undefined && (
          <span class={`badge ${problem !== undefined || Number(result) >= 400 ? 'warn' : ''}`}>
            <Visible text={String(result)} />
          </span>
        )}{' '}
        {result !== undefined && <span class="soft">{duration} ms</span>}
      </summary>
      <Part title="Request" first={`${method} ${url}`} part={{ headers, body }} />
      {response && <Part title="Response" first={`Status ${response.status}`} part={response} />}
    </details>
  );
}

interface PartProps {
  readonly title: string;
  readonly first: string;
  readonly part: Pick<ResponseRecord, 'headers' | 'body'>;
}

function Part({ title, first, part: { headers, body } }: PartProps): JSX.Element {
  const head = [first, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)].join('\n');
  return (
    <>
      <h4>{title}</h4>
      <pre class="block" tabIndex={0}>
        <Visible text={body === undefined ? head : `${head}\n\n${body}`} lines max={100_000} />
      </pre>
    </>
  );
}
