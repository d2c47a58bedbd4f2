import path from 'node:path';
import { openBrowser } from '../auth/client/open-browser.ts';
import { Deferred } from '../base/deferred.ts';
import type { Client } from '../client/client.ts';
import { connect } from '../client/connect.ts';
import type { Handlers, LogMessage } from '../client/handlers.ts';
import type { ClientOptions } from '../client/options.ts';
import type { UrlServer } from '../bridge/config/config.ts';
import type { Authorizer } from '../transport/http/client/authorizer.ts';
import type { Wiretap } from '../transport/wiretap.ts';
import { unrepeated } from '../operate/repetition.ts';
import type { ClientFlags } from './client-options.ts';
import type { LoginPrinter } from './browser-login.ts';
import { dataFolder } from './data-folder.ts';
import { failureOf, Interrupted } from './exit.ts';
import { ExitCode, reportFailure } from './failure.ts';
import { fillIn } from './form.ts';
import { Output } from './output.ts';
import { OutputSecrets } from './output-secrets.ts';
import { withoutRepeatedStarts } from './repeated-starts.ts';
import { relayed } from './screen.ts';
import { answerByHand } from './sample.ts';
import { startRecording } from './recording.ts';
import { isReaderGone } from './reader-gone.ts';
import { rootsOf } from './roots.ts';
import { printStatus } from './print-status.ts';
import { secretsOf } from './secrets.ts';
import { atEnd, stop } from './shutdown.ts';
import { stderrRelay } from './stderr-relay.ts';
import { childEnv, hasCredentials, nameOf, type Target } from './target.ts';
import { logLine, Terminal } from './terminal.ts';
import { fileEraCache } from './era-cache.ts';
import { saySilence } from './silence.ts';
import { offerUrl } from './offer-url.ts';

/** If a stdio server does not respond for this many milliseconds, it is treated as a legacy server. */
const PROBE_TIMEOUT = 5000;

/** What a command does once it is connected. Resolves with the exit code, if it is not 0. */
export type Work = (connected: Connected) => Promise<ExitCode | void>;

interface Connected {
  readonly client: Client;
  readonly output: Output;
  readonly terminal: Terminal;
  /** Fires when the command is interrupted. */
  readonly signal: AbortSignal;
}

/** Makes the authorizer for a server without given credentials. */
export type MakeAuthorizer = (server: UrlServer, printer: LoginPrinter) => Promise<Authorizer>;

/** Connects to a server, runs a command, and ends the process with the command's exit code. */
export async function withClient(
  target: Target,
  flags: ClientFlags,
  work: Work,
  authorizerFor?: MakeAuthorizer,
): Promise<void> {
  const secrets = new OutputSecrets(secretsOf(target));
  const controller = new AbortController();
  const { signal } = controller;
  const terminal = new Terminal();
  const relay = stderrRelay(
    (line) => terminal.print(line),
    () => process.stderr.writableLength,
  );
  const finished = new Deferred();
  let working = true;
  atEnd(async () => {
    if (working) process.exitCode = ExitCode.Interrupted;
    controller.abort(new Interrupted('interrupted'));
    await finished.promise;
  });
  let read = true;
  process.stdout.on('error', (error) => {
    if (!isReaderGone(error)) return;
    read = false;
    controller.abort(new Interrupted('the reader of the output has gone'));
  });
  // The same error of a server is printed only once.
  const warn = unrepeated(printStatus);
  let client: Client | undefined;
  try {
    const wiretap = await startRecording(flags.record, nameOfTarget(target));
    client = await open(
      target,
      flags,
      secrets,
      terminal,
      relay,
      signal,
      wiretap,
      (error) => {
        if (working) warn(error.message);
      },
      authorizerFor,
    );
    process.exitCode = (await work({ client, terminal, signal, output: new Output(flags) })) ?? ExitCode.Ok;
  } catch (error) {
    terminal.close();
    // At once: the server may take seconds to end, and a signal may end the process meanwhile.
    if (read) reportFailure(failureOf(error, client !== undefined));
  }
  working = false;
  terminal.close();
  await client?.close().catch((error: unknown) => printStatus((error as Error).message));
  relay();
  finished.resolve();
  void stop();
}

async function open(
  target: Target,
  flags: ClientFlags,
  secrets: OutputSecrets,
  terminal: Terminal,
  relay: (line: string) => void,
  signal: AbortSignal,
  wiretap: Wiretap | undefined,
  onerror: (error: Error) => void,
  authorizerFor: MakeAuthorizer = async (server, printer) =>
    (await import('./login.ts')).loginFor(server, printer, flags.login, terminal.watched),
): Promise<Client> {
  const { timeout } = flags;
  const roots = rootsOf(flags.root);
  const options: ClientOptions = {
    ...(await answering(terminal, nameOfTarget(target), flags)),
    ...(roots.length > 0 && { onroots: () => roots }),
    revision: flags.revision,
    timeout,
    connectTimeout: timeout,
    // Leave half of the time for the handshake.
    probeTimeout: Math.min(PROBE_TIMEOUT, timeout / 2),
    maxTimeout: 0,
    logLevel: flags.logLevel,
    signal,
    // A server at a URL may be restarted while `listen` runs. A command is not started again after it has ended.
    restart: target.kind === 'url',
    eraCache: fileEraCache(
      path.join(dataFolder(), 'eras'),
      target.kind === 'command' ? path.resolve(target.cwd ?? '.') : undefined,
    ),
    wiretap,
    onlog: logPrinter(relay),
    onerror,
  };
  if (target.kind === 'command') {
    const { command, args, cwd } = target;
    const name = nameOfTarget(target);
    const onstderr = withoutRepeatedStarts((line) => relay(relayed(line, name)));
    const connected = connect({ command, args, name, env: childEnv(target), cwd, onstderr, watchdog: true }, options);
    return saySilence(connected, { name, timeout, print: printStatus });
  }
  const { url, transport, headers } = target;
  // A user at the terminal may also paste the address that the login ends at.
  const printer = terminal.loginPrinter((prompt, over) =>
    terminal.exclusively(() => terminal.ask(prompt, over, ''), over),
  );
  const authorizer = hasCredentials(target) ? undefined : secrets.hiding(await authorizerFor(target, printer));
  return saySilence(connect({ url, transport }, { ...options, headers, authorizer }), {
    ...{ name: nameOfTarget(target), timeout, print: printStatus, remote: true },
    loggingIn: () => (authorizer?.loginActiveUntil ?? 0) > Date.now(),
  });
}

/** Prints log messages. A bridge sends the same warning with each list, and it is printed once. */
function logPrinter(print: (line: string) => void): (message: LogMessage) => void {
  let last = '';
  return (message) => {
    const line = logLine(message);
    if (message.logger === 'everwire' && line === last) return;
    last = line;
    print(line);
  };
}

/** The name of the server that asks: the user's own name for it, not the name that the server claims. */
function nameOfTarget(target: Target): string {
  return target.kind === 'url' ? new URL(target.url).host : nameOf(target);
}

/** The answers of the command line, or the user at the terminal. Never both: a script must not wait for a user. */
async function answering(terminal: Terminal, name: string, { answers }: ClientFlags): Promise<Handlers> {
  if (answers !== undefined) return (await import('./answers.ts')).answersFrom(answers, printStatus);
  if (!terminal.interactive) return {};
  return {
    onelicit: {
      form: (form, { signal }) => terminal.exclusively(() => fillIn(terminal, name, form, signal), signal),
      url: (request, { signal }) =>
        terminal.exclusively(() => offerUrl(terminal, name, request, openBrowser, signal), signal),
    },
    onsample: (params, { signal }) => terminal.exclusively(() => answerByHand(terminal, name, params, signal), signal),
  };
}
