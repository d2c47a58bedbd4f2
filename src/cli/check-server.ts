import { scrubber } from '../auth/scrub.ts';
import { Deferred } from '../base/deferred.ts';
import { check } from '../check/check.ts';
import type { CheckedServer } from '../check/server.ts';
import { Capture } from '../inspect/capture.ts';
import { ReportBuilder, type CheckReport } from './check/check-report.ts';
import type { CheckFlags } from './check-options.ts';
import type { LoginPrinter } from './browser-login.ts';
import { failureOf, Interrupted } from './exit.ts';
import { ExitCode, Failure, reportFailure } from './failure.ts';
import { loginFor } from './login.ts';
import { printStatus, scrubWith } from './print-status.ts';
import { readCall } from './read-call.ts';
import { record } from './recording.ts';
import { secretsOf } from './secrets.ts';
import { atEnd, stop } from './shutdown.ts';
import { takeTarget, type SplitWords } from './take-target.ts';
import { childEnv, hasCredentials, nameOf, type Target } from './target.ts';
import { Terminal } from './terminal.ts';

/** Checks a running server, or one that it starts, and ends the process with the exit code. */
export async function checkServer(
  words: SplitWords,
  flags: CheckFlags,
  writeReport: (report: CheckReport, flags: CheckFlags) => Promise<void>,
): Promise<void> {
  const { target, rest } = takeTarget(words, flags);
  if (rest.length > 0) throw Failure.usage(`check takes only a target, and not ${JSON.stringify(rest[0])}`);
  const calls = await Promise.all(flags.call.map(readCall));
  scrubWith(scrubber(secretsOf(target)));
  const controller = new AbortController();
  const finished = new Deferred();
  let isDone = false;
  atEnd(async () => {
    if (!isDone) process.exitCode = ExitCode.Interrupted;
    controller.abort(new Interrupted('interrupted'));
    await finished.promise;
  });
  let wasReached = false;
  const terminal = new Terminal();
  try {
    const capture = new Capture();
    const name = nameOf(target);
    if (flags.record !== undefined) await record(capture, flags.record, name);
    const result = await check(checkedServer(target, flags, terminal), capture, {
      calls,
      patience: flags.timeout,
      signal: controller.signal,
      onstep: (step) => {
        if (step.endsWith(SURVEY)) printStatus(`checking ${step.slice(0, -SURVEY.length)}`);
        else if (!wasReached) printStatus('trying bad input');
        wasReached ||= !step.endsWith(SURVEY);
      },
    });
    const builder = new ReportBuilder(name, result.rules);
    for (const finding of result.findings) builder.add(finding);
    const report = builder.report(result.exercised, [], result);
    await writeReport(report, flags);
    process.exitCode = report.counts.error > 0 ? ExitCode.Refused : ExitCode.Ok;
  } catch (error) {
    reportFailure(failureOf(error, wasReached));
  }
  isDone = true;
  terminal.close();
  finished.resolve();
  void stop();
}

const SURVEY = ': using what the server offers';

function checkedServer(target: Target, { login }: CheckFlags, terminal: Terminal): CheckedServer {
  if (target.kind === 'command') {
    const { command, args, cwd } = target;
    return { kind: 'command', target: { command, args, cwd, env: childEnv(target), watchdog: true } };
  }
  const { url, headers, transport } = target;
  const printer: LoginPrinter = {
    print: (line) => terminal.print(line),
    address: (line, address) => terminal.address(line, address),
  };
  const authorizer = hasCredentials(target) ? undefined : loginFor(target, printer, login, terminal.watched);
  return { kind: 'url', url: new URL(url), headers, transport, authorizer };
}
