import { scrubber } from '../auth/scrub.ts';
import type { UrlServer } from '../bridge/config/config.ts';
import type { MakeAuthorizer } from '../inspector/connection.ts';
import type { Choice } from '../inspector/inspector.ts';
import { secretInArgument, secretsOf } from './secrets.ts';
import { addressOf, childEnv, type Target } from './target.ts';

/**
 * A server as a choice of the inspector's page.
 *
 * @param source the configuration that names it.
 * @param login how its user logs in.
 */
export function choiceOf(
  name: string,
  source: string,
  target: Target,
  login: (oauth: UrlServer['oauth']) => MakeAuthorizer,
): Choice {
  const shared = { id: `${source}: ${name}`, name, source, detail: detailOf(target) };
  if (target.kind === 'url') {
    const { headers, transport, oauth } = target;
    return {
      ...shared,
      server: { kind: 'url', url: new URL(target.url), headers, transport, authorizer: login(oauth), login: oauth },
    };
  }
  const { command, args, cwd } = target;
  const env = childEnv(target);
  return { ...shared, server: { kind: 'command', target: { command, args, cwd, env, watchdog: true } } };
}

/** Its URL or its command line, without secrets. */
export function detailOf(target: Target): string {
  if (target.kind === 'url') return addressOf(target);
  const { command, args } = target;
  return scrubber(secretsOf(target))([command, ...withoutSecrets(args)].join(' '));
}

/** The arguments of a command, without values of options whose names mark them as secrets. */
export function withoutSecrets(args: readonly string[]): string[] {
  return args.map((arg, at) => {
    const secret = secretInArgument(arg, args[at - 1]);
    return secret === undefined ? arg : `${arg.slice(0, arg.length - secret.length)}***`;
  });
}
