import type { IncomingMessage, ServerResponse } from 'node:http';
import { PROTECTION } from './access.ts';
import { checkArgument, CommandRefused } from './command-arguments.ts';
import type { CommandError, PageCommands, RequestCommand } from './page-api.ts';

/** The largest body of a command, in bytes. */
const MAX_BODY = 64 * 1024 * 1024;

/** Runs a command of the page and answers it. @param commands undefined if the role of the inspector has none. */
export async function runCommand(
  name: keyof PageCommands,
  commands: PageCommands | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (!commands) return refuse(response, 409, 'This inspector only shows traffic. It sends nothing.');
  if (!/^application\/json\s*(?:;|$)/i.test(request.headers['content-type'] ?? ''))
    return refuse(response, 415, 'A command must be application/json.');
  const body = await bodyOf(request);
  if (body === undefined) return refuse(response, 413, `A command may have ${MAX_BODY} bytes.`);
  try {
    const argument = parsed(body);
    checkArgument(name, argument);
    if (name === 'request') cancelWithoutReader(response, commands, argument as RequestCommand);
    const run = commands[name] as (argument: unknown) => unknown;
    answer(response, await run.call(commands, argument));
  } catch (error) {
    const status = error instanceof CommandRefused ? error.status : 409;
    refuse(response, status, (error as Error).message, false);
  }
}

/** A request whose page has gone is cancelled, because nobody gets its result. */
function cancelWithoutReader(response: ServerResponse, commands: PageCommands, { key }: RequestCommand): void {
  response.once('close', () => {
    if (!response.writableEnded) commands.cancel({ key });
  });
}

function answer(response: ServerResponse, result: unknown): void {
  if (result === undefined) response.writeHead(204, PROTECTION).end();
  else response.writeHead(200, { ...PROTECTION, 'content-type': 'application/json' }).end(JSON.stringify(result));
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (cause) {
    throw new CommandRefused(400, 'The body of a command must be JSON.', { cause });
  }
}

/** The body as text. Undefined if it is too large; the rest is not read then. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY) return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** @param close whether the connection ends, because the body of the request may be of any length. */
function refuse(response: ServerResponse, status: number, error: string, close = true): void {
  const body: CommandError = { error };
  response.writeHead(status, {
    ...PROTECTION,
    'content-type': 'application/json',
    ...(close && { connection: 'close' }),
  });
  response.end(JSON.stringify(body));
}
