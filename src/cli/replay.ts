import { basename } from 'node:path';
import { isSelected } from '../bridge/fleet/selection.ts';
import type { Client } from '../client/client.ts';
import { connect } from '../client/connect.ts';
import type { ClientOptions } from '../client/options.ts';
import { Capture } from '../inspect/capture.ts';
import { changeTexts } from '../jsonrpc/texts.ts';
import { replay as replaySession } from '../replay/replay.ts';
import { authorizerFor } from './check-server.ts';
import { writeComparison } from './compare.ts';
import { ExitCode, Failure } from './failure.ts';
import { keepInputs } from './keep-input.ts';
import { OutputSecrets } from './output-secrets.ts';
import { recordedSession } from './recorded-session.ts';
import { record } from './recording.ts';
import type { ReplayFlags } from './replay-options.ts';
import { relayed } from './screen.ts';
import { secretsOf } from './secrets.ts';
import { takeTarget, type SplitWords } from './take-target.ts';
import { childEnv, nameOf, type Target } from './target.ts';
import type { Terminal } from './terminal.ts';
import { untilDone } from './until-done.ts';

/** `everwire replay`: sends the requests of a recording to a server, and ends the process with the exit code. */
export async function replay(words: SplitWords, flags: ReplayFlags): Promise<void> {
  const { target, rest } = takeTarget(words, flags);
  const [file, other] = rest;
  if (file === undefined) throw Failure.usage('the recording is missing: the path of an .mcpcap file');
  if (other !== undefined)
    throw Failure.usage(`replay takes only a target and a recording, and not ${JSON.stringify(other)}`);
  await keepInputs(flags, file);
  const { calls, notes } = await recordedSession(file);
  const secrets = new OutputSecrets(secretsOf(target));
  const { call: only, ignore, revision, timeout } = flags;
  await untilDone(async ({ signal, terminal, reached }) => {
    const capture = new Capture();
    const name = nameOf(target);
    if (flags.record !== undefined) await record(capture, flags.record, name);
    const connected = connectorTo(target, flags.login, secrets, terminal);
    const result = await replaySession(calls, {
      ...{ ignore, revision, timeout, signal, capture },
      mayCall: (tool) => isSelected({ only }, tool),
      connect: async (options) => {
        const client = await connected(options);
        reached();
        return client;
      },
    });
    const { clean } = secrets;
    // The names of tools and all values come from a server, which may repeat a secret. A report is often kept.
    const [requests, notRepeated] = changeTexts([result.requests, result.notRepeated], clean) as [
      typeof result.requests,
      typeof result.notRepeated,
    ];
    const comparison = { ...result, requests };
    await writeComparison({ before: basename(file), after: name, comparison, notes, notRepeated }, flags);
    return result.differs ? ExitCode.Refused : ExitCode.Ok;
  });
}

/** Makes a function that connects to a target, as often as it is called. */
function connectorTo(
  target: Target,
  login: boolean,
  secrets: OutputSecrets,
  terminal: Terminal,
): (options: ClientOptions) => Promise<Client> {
  if (target.kind === 'command') {
    const { command, args, cwd } = target;
    const name = nameOf(target);
    const onstderr = (line: string): void => terminal.print(relayed(line, name));
    return (options) => connect({ command, args, name, env: childEnv(target), cwd, onstderr, watchdog: true }, options);
  }
  const { url, transport, headers } = target;
  const authorizer = authorizerFor(target, login, secrets, terminal);
  return (options) => connect({ url, transport }, { ...options, headers, authorizer });
}
