import { scrubber } from '../auth/scrub.ts';
import { Capture } from '../inspect/capture.ts';
import type { InspectedServer } from '../inspector/connection.ts';
import { Inspector, type Choice } from '../inspector/inspector.ts';
import { Failure } from './failure.ts';
import { showPage } from './inspector-page.ts';
import type { InspectFlags } from './inspect-options.ts';
import { loginByLink } from './login.ts';
import { scrubWith } from './print-status.ts';
import { record } from './recording.ts';
import { secretsOf } from './secrets.ts';
import { atEnd } from './shutdown.ts';
import { takeTarget, type SplitWords } from './take-target.ts';
import { childEnv, nameOf, type Target } from './target.ts';

/** `everwire inspect`: serves a page that connects to servers and shows the wire, until the process is interrupted. */
export async function inspect({ words, command }: SplitWords, flags: InspectFlags): Promise<void> {
  const capture = new Capture();
  const given = command !== undefined || words.length > 0;
  const choices = given ? [choiceOf({ words, command }, flags)] : [];
  if (flags.record !== undefined) await record(capture, flags.record, choices[0]?.name ?? 'everwire inspect');
  const inspector = new Inspector({
    capture,
    choices,
    authorizer: async (url, onlogin) => loginByLink(url, flags.login, onlogin),
  });
  atEnd(() => inspector.close());
  const { feed } = inspector;
  const { port, open } = flags;
  await showPage({ capture, feed, commands: inspector, port, portOption: '--port', open, interactive: true });
  const [first] = choices;
  if (given && first) inspector.connect({ choice: first.id });
}

function choiceOf(words: SplitWords, flags: InspectFlags): Choice {
  const { target, rest } = takeTarget(words, flags);
  if (rest.length > 0) throw Failure.usage(`inspect takes only a target, and not ${JSON.stringify(rest[0])}`);
  scrubWith(scrubber(secretsOf(target)));
  return { id: 'command line', name: nameOf(target), source: 'command line', ...shownTarget(target) };
}

function shownTarget(target: Target): { detail: string; server: InspectedServer } {
  if (target.kind === 'url') {
    const url = new URL(target.url);
    const { headers, transport } = target;
    return { detail: url.origin + url.pathname, server: { kind: 'url', url, headers, transport } };
  }
  const { command, args, cwd } = target;
  return {
    detail: [command, ...args].join(' '),
    server: { kind: 'command', target: { command, args, cwd, env: childEnv(target), watchdog: true } },
  };
}
