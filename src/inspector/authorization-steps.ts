import { checkRegistration } from '../auth/client/registration.ts';
import type { Proceed } from '../auth/steps/step.ts';
import { walkAuthorization } from '../auth/steps/walk-authorization.ts';
import type { ScopedCall } from '../auth/steps/walk.ts';
import { CommandRefused } from '../inspect/page-server/command-refused.ts';
import type { AuthorizationCommand, AuthorizationState } from '../inspect/page-server/page-api.ts';
import { isObject } from '../jsonrpc/message.ts';
import type { Wiretap } from '../transport/wiretap.ts';
import type { InspectedServer } from './connection.ts';

/** Goes through the authorization of a server as the page says. There is one walk at a time. */
export class AuthorizationSteps {
  readonly #onstate: (state: AuthorizationState) => void;
  readonly #wiretap: Wiretap | undefined;
  #state: AuthorizationState | undefined;
  #controller = new AbortController();
  #over: Promise<void> = Promise.resolve();
  #proceed: ((proceed: Proceed | undefined) => void) | undefined;

  /** @param wiretap sees the connections of the walk. Default none. */
  constructor(onstate: (state: AuthorizationState) => void, wiretap?: Wiretap) {
    this.#onstate = onstate;
    this.#wiretap = wiretap && {
      open: (connection) => wiretap.open({ ...connection, purpose: 'authorization' }),
    };
  }

  /** Begins a walk, after ending the one before. @throws CommandRefused if the command cannot work. */
  start(server: InspectedServer & { readonly kind: 'url' }, command: AuthorizationCommand): void {
    const { revision, clientMetadataUrl } = command;
    const { url, headers, login = {} } = server;
    const { clientId, clientSecret, scopes } = clientOf(command, login);
    const call = callOf(command);
    checkDocument(clientMetadataUrl);
    this.end();
    const controller = new AbortController();
    const { signal } = controller;
    this.#controller = controller;
    this.#state = { target: url.origin + url.pathname, revision, steps: [], isOver: false };
    this.#onstate(this.#state);
    // What a walk that was ended still does is not shown.
    const update = (change: Partial<AuthorizationState>): void => {
      if (!signal.aborted) this.#update(change);
    };
    const { callbackPort } = login;
    const redirectUri = callbackPort === undefined ? undefined : `http://localhost:${callbackPort}/callback`;
    const walk = walkAuthorization({
      ...{ url, headers, revision, scopes, call, clientMetadataUrl, signal, wiretap: this.#wiretap },
      client: clientId === undefined ? undefined : { clientId, clientSecret },
      clientMetadata: { client_name: 'Everwire' },
      login: {
        title: 'Everwire',
        redirectUri,
        open: (address) => update({ login: { url: address.href } }),
      },
      onstart: (running) => update({ running, pause: undefined }),
      onstep: (step) => update({ steps: [...this.#state!.steps, step], running: undefined, login: undefined }),
      pause: (pause) =>
        new Promise((resolve) => {
          this.#proceed = resolve;
          update({ pause });
        }),
    });
    // The steps report all errors but the end that the user has asked for.
    this.#over = walk.catch(() => {}).then(() => update({ running: undefined, pause: undefined, isOver: true }));
  }

  /** Does the next step. @throws CommandRefused if no step waits. */
  proceed(proceed: Proceed): void {
    const next = this.#proceed;
    if (!next) throw new CommandRefused(409, 'No step waits for you.');
    this.#proceed = undefined;
    this.#update({ pause: undefined });
    next(proceed);
  }

  /** Ends the walk, if there is one. Tokens that it has got are forgotten. */
  end(): void {
    this.#proceed?.(undefined);
    this.#proceed = undefined;
    if (this.#state && !this.#state.isOver)
      this.#update({ running: undefined, pause: undefined, login: undefined, isOver: true });
    this.#controller.abort(new Error('The walk was ended'));
  }

  async close(): Promise<void> {
    this.end();
    await this.#over;
  }

  #update(change: Partial<AuthorizationState>): void {
    this.#state = { ...this.#state!, ...change };
    this.#onstate(this.#state);
  }
}

/** The client that the user names, else that of the configuration. */
function clientOf(
  { clientId, clientSecret, scope }: AuthorizationCommand,
  login: NonNullable<(InspectedServer & { kind: 'url' })['login']>,
): Pick<typeof login, 'clientId' | 'clientSecret' | 'scopes'> {
  if (clientSecret !== undefined && clientId === undefined)
    throw new CommandRefused(400, 'A client secret needs the client that it belongs to.');
  const client = clientId === undefined ? login : { clientId, clientSecret };
  const scopes = scope?.split(' ').filter((each) => each !== '');
  return { ...client, scopes: scopes ?? login.scopes };
}

function callOf({ tool, args = '{}' }: AuthorizationCommand): ScopedCall | undefined {
  if (tool === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(args);
  } catch (cause) {
    throw new CommandRefused(400, 'The arguments of the tool must be JSON.', { cause });
  }
  if (!isObject(value)) throw new CommandRefused(400, 'The arguments of the tool must be a JSON object.');
  return { tool, args: value };
}

function checkDocument(clientMetadataUrl: string | undefined): void {
  try {
    checkRegistration({ clientMetadataUrl });
  } catch (cause) {
    throw new CommandRefused(400, (cause as Error).message, { cause });
  }
}
