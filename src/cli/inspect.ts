import { basename } from 'node:path';
import { scrubber } from '../auth/scrub.ts';
import type { UrlServer } from '../bridge/config/config.ts';
import type { MakeAuthorizer } from '../inspector/connection.ts';
import { Capture } from '../inspect/capture.ts';
import { recordingSource } from '../inspect/page-server/recording-source.ts';
import { fixedState } from '../inspect/page-server/state-feed.ts';
import { AppServer } from '../inspector/apps/app-server.ts';
import { Inspector } from '../inspector/inspector.ts';
import { SavedCalls } from '../inspector/saved-calls.ts';
import { Sessions } from '../inspector/sessions.ts';
import { choiceOf } from './choices.ts';
import { Failure } from './failure.ts';
import { showPage, type InspectorPage } from './inspector-page.ts';
import { keepInputs } from './keep-input.ts';
import { INSPECTOR_PORT, SAVED_FILE, type InspectFlags } from './inspect-options.ts';
import { loginByLink } from './login.ts';
import { listedServers, type ListedServer } from './mcp-json.ts';
import { readOAuthFlags } from './oauth-options.ts';
import { printStatus, scrubWith } from './print-status.ts';
import { record } from './recording.ts';
import { secretsOf } from './secrets.ts';
import { serverTitle } from './server-name.ts';
import { atEnd } from './shutdown.ts';
import { surroundings } from './surroundings.ts';
import { takeTarget, type SplitWords } from './take-target.ts';

/** `everwire inspect`: serves a page that connects to servers and shows the wire, until the process is interrupted. */
export async function inspect({ words, command }: SplitWords, flags: InspectFlags): Promise<void> {
  if (flags.print) return (await import('./inspect-print.ts')).inspectPrint({ words, command }, flags);
  if (flags.filter !== undefined) throw Failure.usage('--filter needs --print; the page has a field for it');
  if (flags.through) return (await import('./inspect-through.ts')).inspectThrough({ words, command }, flags);
  const [first] = words;
  const given = first !== undefined || command !== undefined;
  if (command === undefined && first?.endsWith('.mcpcap')) return inspectRecording(words, flags);
  if (!given && readOAuthFlags(flags, process.env).oauth) throw Failure.usage('options for the login need a target');
  const { saved = SAVED_FILE } = flags;
  await keepInputs({ ...flags, saved });
  const servers = given ? [targetIn({ words, command }, flags)] : listedServers(flags.config, surroundings());
  const secrets = servers.flatMap(({ target }) => secretsOf(target));
  scrubWith(scrubber(secrets));
  const login =
    (oauth: UrlServer['oauth']): MakeAuthorizer =>
    async (url, onlogin) =>
      loginByLink({ url: url.href, oauth }, flags.login, onlogin);
  const choices = servers.map(({ name, source, target }) => choiceOf(name, source, target, login));
  const capture = new Capture();
  if (flags.record !== undefined) await record(capture, flags.record, given ? choices[0]!.name : 'everwire inspect');
  const apps = await AppServer.listen();
  const inspector = new Inspector({
    ...{ capture, choices, apps },
    authorizer: login(undefined),
    saved: new SavedCalls({ file: saved, secrets }),
  });
  atEnd(() => inspector.close());
  const { feed, breakpoints, sessions } = inspector;
  await showPage({ capture, feed, commands: inspector, breakpoints, sessions, apps, ...pageOptions(flags) });
  if (given) inspector.connect({ choice: choices[0]!.id });
}

async function inspectRecording([file = '', ...others]: readonly string[], flags: InspectFlags): Promise<void> {
  refuseMore(others);
  if (flags.record !== undefined) throw Failure.usage('--record cannot be used with a recording');
  if (flags.saved !== undefined) throw Failure.usage('--saved cannot be used with a recording');
  const feed = fixedState('recording', basename(file));
  const onerror = ({ message }: Error): void => {
    printStatus(message);
    feed.update({ connection: { ...feed.state.connection, problem: { message } } });
  };
  let capture;
  try {
    capture = await recordingSource(file, onerror);
  } catch (error) {
    throw Failure.usage((error as Error).message);
  }
  const sessions = new Sessions(capture);
  await showPage({ capture, feed, sessions, ...pageOptions(flags) });
}

function targetIn(words: SplitWords, flags: InspectFlags): ListedServer {
  const { target, rest } = takeTarget(words, flags);
  refuseMore(rest);
  return { name: serverTitle(target, process.cwd()), source: 'command line', target };
}

function refuseMore([word]: readonly string[]): void {
  if (word !== undefined) throw Failure.usage(`inspect takes only a target, and not ${JSON.stringify(word)}`);
}

function pageOptions({
  port = INSPECTOR_PORT,
  open,
}: InspectFlags): Pick<InspectorPage, 'port' | 'portOption' | 'open' | 'interactive'> {
  return { port, portOption: '--port', open, interactive: true };
}
