import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BreakpointCommands } from '../breakpoints/breakpoint-api.ts';
import { PROTECTION } from './access.ts';
import { CommandRefused } from './command-refused.ts';
import { checkArgument, isAboutBreakpoints, isAboutSessions, type Posted } from './command-arguments.ts';
import type { Outcomes } from './outcomes.ts';
import type { CommandError, PageCommands, RequestCommand } from './page-api.ts';
import { requestBody } from './request-body.ts';
import type { SessionCommands } from './session-api.ts';

/** The largest body of a command, in bytes. */
const MAX_BODY = 64 * 1024 * 1024;

/** What runs the commands of the page, and keeps the outcomes of its requests. */
export interface PageActions {
  /** Undefined if the inspector sends nothing. */
  readonly commands: PageCommands | undefined;
  readonly outcomes: Outcomes | undefined;
  /** Undefined if nothing passes that could be held. */
  readonly breakpoints: BreakpointCommands | undefined;
  /** Undefined if sessions cannot be compared here. */
  readonly sessions: SessionCommands | undefined;
}

/** Runs a command of the page and answers it. */
export async function runCommand(
  name: Posted,
  actions: PageActions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (!runnerOf(name, actions)) return refuse(response, 409, 'This inspector only shows traffic. It sends nothing.');
  if (!/^application\/json\s*(?:;|$)/i.test(request.headers['content-type'] ?? ''))
    return refuse(response, 415, 'A command must be application/json.');
  const body = await requestBody(request, MAX_BODY);
  if (body === undefined) return refuse(response, 413, `A command may have at most ${MAX_BODY} bytes.`);
  try {
    const argument = parsed(body);
    checkArgument(name, argument);
    const result = await run(name, argument, actions);
    if (result === undefined) response.writeHead(204, PROTECTION).end();
    else response.writeHead(200, { ...PROTECTION, 'content-type': 'application/json' }).end(result);
  } catch (error) {
    const status = error instanceof CommandRefused ? error.status : 409;
    refuse(response, status, (error as Error).message, false);
  }
}

/** @returns the outcome of a request, or the result of another command, as JSON. Undefined if it has none. */
async function run(name: Posted, argument: unknown, actions: PageActions): Promise<string | undefined> {
  const { outcomes } = actions;
  if (name === 'outcome') return outcomes!.take((argument as { key: string }).key);
  if (name === 'request') {
    await outcomes!.start(argument as RequestCommand);
    return undefined;
  }
  const runner = runnerOf(name, actions) as Record<string, (argument: unknown) => unknown>;
  const result = await runner[name]!(argument);
  return result === undefined ? undefined : JSON.stringify(result);
}

/** What runs a command. Undefined if it cannot be used here. */
function runnerOf(name: Posted, { commands, breakpoints, sessions }: PageActions): object | undefined {
  if (isAboutBreakpoints(name)) return breakpoints;
  return isAboutSessions(name) ? sessions : commands;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (cause) {
    throw new CommandRefused(400, 'The body of a command must be JSON.', { cause });
  }
}

/** @param close whether to end the connection, because the rest of the body may be of any length. */
function refuse(response: ServerResponse, status: number, error: string, close = true): void {
  const body: CommandError = { error };
  response.writeHead(status, {
    ...PROTECTION,
    'content-type': 'application/json',
    ...(close && { connection: 'close' }),
  });
  response.end(JSON.stringify(body));
}
