import type { UrlServer } from '../bridge/config/config.ts';
import { check } from '../check/check.ts';
import type { GivenAnswers } from '../check/questions.ts';
import type { CheckedServer } from '../check/server.ts';
import { Capture } from '../inspect/capture.ts';
import { changeTexts } from '../jsonrpc/texts.ts';
import type { Authorizer } from '../transport/http/client/authorizer.ts';
import { answersFrom } from './answers.ts';
import { ReportBuilder, type CheckReport } from './check/check-report.ts';
import type { CheckFlags } from './check-options.ts';
import { ExitCode, Failure } from './failure.ts';
import { loginFor } from './login.ts';
import { OutputSecrets } from './output-secrets.ts';
import { printStatus } from './print-status.ts';
import { readCall } from './read-call.ts';
import { record } from './recording.ts';
import { rootsOf } from './roots.ts';
import { secretsOf } from './secrets.ts';
import { serverTitle } from './server-name.ts';
import { takeTarget, type SplitWords } from './take-target.ts';
import { addressOf, childEnv, hasCredentials, type Target } from './target.ts';
import type { Terminal } from './terminal.ts';
import { untilDone } from './until-done.ts';

/** Checks a running server, or one that it starts, and ends the process with the exit code. */
export async function checkServer(
  words: SplitWords,
  flags: CheckFlags,
  writeReport: (report: CheckReport, flags: CheckFlags) => Promise<void>,
): Promise<void> {
  const { target, rest } = takeTarget(words, flags);
  if (rest.length > 0) throw Failure.usage(`check takes only a target, and not ${JSON.stringify(rest[0])}`);
  const calls = await Promise.all(flags.call.map(readCall));
  const answers = await givenAnswers(flags);
  const secrets = new OutputSecrets(secretsOf(target));
  await untilDone(async ({ signal, terminal, reached }) => {
    const capture = new Capture();
    const name = nameInReport(target);
    if (flags.record !== undefined) await record(capture, flags.record, name);
    let wasReached = false;
    const result = await check(checkedServer(target, flags, secrets, terminal), capture, {
      calls,
      answers,
      patience: flags.timeout,
      signal,
      onstep: (step) => {
        if (step.endsWith(SURVEY)) return printStatus(`checking ${step.slice(0, -SURVEY.length)}`);
        if (!wasReached) printStatus('trying bad input');
        wasReached = true;
        reached();
      },
    });
    const { clean } = secrets;
    const builder = new ReportBuilder(name, result.rules);
    for (const finding of result.findings) builder.add({ ...finding, seen: clean(finding.seen) });
    const skipped = new Map(Array.from(result.skipped, ([rule, why]) => [rule, clean(why)]));
    const notTried = changeTexts(result.notTried, clean) as typeof result.notTried;
    const notes = flags.record === undefined && result.findings.length > 0 ? [NUMBERS] : [];
    const report = builder.report(result.exercised, notes, { ...result, skipped, notTried });
    await writeReport(report, flags);
    return report.counts.error > 0 ? ExitCode.Refused : ExitCode.Ok;
  });
}

async function givenAnswers({ answers, root }: CheckFlags): Promise<GivenAnswers> {
  const roots = rootsOf(root);
  const given = answers === undefined ? {} : await answersFrom(answers, printStatus);
  return { ...given, ...(roots.length > 0 && { onroots: () => roots }) };
}

/** What the numbers in a report are good for. */
const NUMBERS = 'The numbers of records are those of this run. To keep its records, use --record <file>.';
const SURVEY = ': using what the server offers';

/** The URL without its query, which may have secrets, or a name for a command. */
function nameInReport(target: Target): string {
  return target.kind === 'command' ? serverTitle(target, target.cwd ?? process.cwd()) : addressOf(target);
}

function checkedServer(
  target: Target,
  { login }: CheckFlags,
  secrets: OutputSecrets,
  terminal: Terminal,
): CheckedServer {
  if (target.kind === 'command') {
    const { command, args, cwd } = target;
    return { kind: 'command', target: { command, args, cwd, env: childEnv(target), watchdog: true } };
  }
  const { url, headers, transport } = target;
  const authorizer = authorizerFor(target, login, secrets, terminal);
  return { kind: 'url', url: new URL(url), headers, transport, authorizer };
}

/** Gets tokens for a server at a URL. Undefined if the user has given the credentials. */
export function authorizerFor(
  target: UrlServer,
  login: boolean,
  secrets: OutputSecrets,
  terminal: Terminal,
): Authorizer | undefined {
  if (hasCredentials(target)) return undefined;
  return secrets.hiding(loginFor(target, terminal.loginPrinter(), login, terminal.watched));
}
