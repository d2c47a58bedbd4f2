import { openBrowser } from '../auth/client/open-browser.ts';
import { STEP_TITLES, type Pause, type Proceed, type StepRecord } from '../auth/steps/step.ts';
import { walkAuthorization } from '../auth/steps/walk-authorization.ts';
import { scrubber } from '../auth/scrub.ts';
import { walkReport } from './auth/walk-report.ts';
import { headText, stepText, summaryText } from './auth/walk-text.ts';
import type { AuthFlags } from './auth-options.ts';
import { browserOpener, loginAt } from './browser-login.ts';
import { detailOf } from './choices.ts';
import { ExitCode, Failure } from './failure.ts';
import { serverIn } from './login-commands.ts';
import { Output } from './output.ts';
import { scrubWith } from './print-status.ts';
import { readCall } from './read-call.ts';
import { secretsOf } from './secrets.ts';
import type { SplitWords } from './take-target.ts';
import type { Terminal } from './terminal.ts';
import { untilDone } from './until-done.ts';

/** `everwire auth`: goes through the authorization of a server, and judges each step. */
export async function auth(words: SplitWords, flags: AuthFlags): Promise<void> {
  const server = serverIn(words, flags, 'auth');
  const call = flags.call === undefined ? undefined : await readCall(flags.call);
  scrubWith(scrubber(secretsOf(server)));
  await untilDone(({ signal, terminal, reached }) => {
    if (flags.step && !terminal.interactive)
      throw Failure.usage('--step needs a terminal, because it waits for Enter before each step');
    // A server that is not reached is a result of the walk.
    reached();
    return walk(signal, terminal);
  });

  async function walk(signal: AbortSignal, terminal: Terminal): Promise<ExitCode> {
    const { revision, clientMetadataUrl, until, keepGoing = false, verbose = false, json = false } = flags;
    const { clientId, clientSecret, scopes, callbackPort } = server.oauth ?? {};
    const output = new Output({ json });
    const target = detailOf(server);
    const steps: StepRecord[] = [];
    let printed = json ? Promise.resolve() : output.text(headText(target, revision));
    const printer = terminal.loginPrinter((prompt, over) => terminal.ask(prompt, over, ''));
    const open = flags.open ? openBrowser : (): Promise<boolean> => Promise.resolve(true);
    await walkAuthorization({
      ...{ url: new URL(server.url), revision, headers: server.headers, scopes, until, call, signal },
      client: clientId === undefined ? undefined : { clientId, clientSecret },
      clientMetadataUrl,
      clientMetadata: { client_name: 'Everwire' },
      login: loginAt(callbackPort, browserOpener({ ...server, url: server.url }, printer, open)),
      pause: async (pause) => {
        await printed;
        if (flags.step) return askToGoOn(terminal, pause, signal);
        return pause.stopped === undefined || keepGoing ? {} : undefined;
      },
      onstep: (step) => {
        steps.push(step);
        if (!json) printed = printed.then(() => output.text(stepText(step, verbose)));
      },
    });
    await printed;
    const report = walkReport(target, revision, steps);
    if (json) await output.value(report);
    else await output.text(summaryText(report, keepGoing));
    if (steps.length === 1 && steps[0]!.outcome === 'stopped') return ExitCode.Unreachable;
    return report.hasFailed ? ExitCode.Refused : ExitCode.Ok;
  }
}

/** Waits for the user. */
async function askToGoOn(
  terminal: Terminal,
  { step, stopped }: Pause,
  signal: AbortSignal,
): Promise<Proceed | undefined> {
  const next = STEP_TITLES[step];
  if (stopped === undefined) {
    const line = await terminal.ask(`Enter for the next step, "${next}", or q to end: `, signal, '');
    return line === undefined || line.trim() === 'q' ? undefined : {};
  }
  const line = await terminal.ask(`A client must stop here. Go on with "${next}"? [y/N] `, signal, '');
  return /^y(?:es)?$/i.test(line?.trim() ?? '') ? {} : undefined;
}
