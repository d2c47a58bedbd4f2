import { judged, shownLine } from './check-rule.ts';
import { CHECKS } from './checks/index.ts';
import { challenge, findPkce, findResource, findServer } from './discovery-steps.ts';
import { findClient, prepareRequest, receiveAnswer, requestTokens, sendRequest } from './login-steps.ts';
import { maskedExchange } from './mask.ts';
import { STEP_TITLES, STEPS, type Proceed, type StepId, type StepRecord } from './step.ts';
import { refreshTokens, revoke, stepUp, useToken } from './use-steps.ts';
import { stopped, Walk, type StepEnd, type WalkOptions } from './walk.ts';

const ACTIONS: Readonly<Record<StepId, (walk: Walk, proceed: Proceed) => Promise<StepEnd>>> = {
  challenge,
  'resource-metadata': findResource,
  'server-metadata': findServer,
  pkce: findPkce,
  registration: findClient,
  'authorization-request': (walk, { parameters }) => sendRequest(walk, parameters),
  callback: receiveAnswer,
  token: requestTokens,
  'first-request': useToken,
  refresh: refreshTokens,
  'step-up': stepUp,
  revocation: revoke,
};

/** Whether the walk goes on after a step that has failed, if the step itself does not say so. Default: never. */
const AFTER_FAILURE: Readonly<Partial<Record<StepId, StepEnd['goesOn']>>> = {
  pkce: 'asked',
  'first-request': 'always',
  refresh: 'always',
  'step-up': 'always',
  revocation: 'always',
};

/**
 * Goes through the authorization of a server, one step after another, as the client of this package does it. Each step
 * becomes a record with its requests and its checks. Where the client stops, the walk goes on only if `pause` says so.
 *
 * No token is kept. Those that were issued are revoked in the last step, if the server can do that.
 *
 * @throws the reason of the signal.
 */
export async function walkAuthorization(options: WalkOptions): Promise<void> {
  const walk = new Walk(options);
  let why: string | undefined;
  try {
    for (const step of STEPS) {
      let proceed: Proceed | undefined = {};
      let end: StepEnd | undefined;
      let parameters: Readonly<Record<string, string>> | undefined;
      if (step === 'authorization-request') {
        // The request may be impossible, for example because of the address of the endpoint.
        parameters = await prepareRequest(walk).catch((error: unknown) => {
          options.signal.throwIfAborted();
          end = stopped(error, 'never');
          return undefined;
        });
      }
      if (!end && step !== STEPS[0]) proceed = await options.pause({ step, stopped: why, parameters });
      if (!proceed) return;
      options.signal.throwIfAborted();
      if (!end) options.onstart?.(step);
      end ??= await endOf(walk, step, proceed);
      options.onstep(recordOf(walk, step, end));
      if (end.goesOn === 'never' || step === options.until) return;
      why = end.goesOn === 'asked' ? shownLine(end.note, [...walk.secrets]) : undefined;
    }
  } finally {
    await walk.endLogin();
    walk.send.close?.();
  }
}

/** Does a step. */
async function endOf(walk: Walk, step: StepId, proceed: Proceed): Promise<StepEnd> {
  try {
    return await ACTIONS[step](walk, proceed);
  } catch (error) {
    walk.options.signal.throwIfAborted();
    return stopped(error, AFTER_FAILURE[step] ?? 'never');
  }
}

function recordOf(walk: Walk, id: StepId, { outcome, note }: StepEnd): StepRecord {
  const { facts, log } = walk;
  const secrets = [...walk.secrets];
  facts.exchanges = log.take();
  const rules = outcome === 'skipped' ? [] : CHECKS.filter(({ step }) => step === id);
  return {
    id,
    title: STEP_TITLES[id],
    outcome,
    note: shownLine(note, secrets),
    exchanges: facts.exchanges.map((exchange) => maskedExchange(exchange, secrets)),
    checks: rules.map((rule) => judged(rule, facts, secrets)),
  };
}
