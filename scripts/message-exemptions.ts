/** Texts of the source that look like messages of errors, but are none. */
export interface Exemption {
  /** A file or a folder, relative to `src`. */
  readonly file: string;
  /** The texts, with `<>` for each computed part. Default: all texts of the file or folder. */
  readonly texts?: readonly string[];
  readonly because: string;
}

const HTTP = 'it is a header or a line of HTTP';
const STATUS = 'it is the result or the progress of a command, and not a problem';
const NOTE = 'it is a note at a record, which the page shows next to the bytes';
const NAME = 'it is a name or a part of one';
const LUA = 'it is a script in Lua';
const STATE = 'it is a state inside a parser';

export const EXEMPTIONS: readonly Exemption[] = [
  {
    file: 'mock/difference.ts',
    texts: ['<> is new', '<> is <> and not <>', '<> is missing'],
    because: 'it is one of the differences that other messages list',
  },
  { file: 'inspector/apps/app-server.ts', texts: ['text/html; charset=utf-8'], because: HTTP },
  { file: 'inspector/apps/frame-document.ts', because: 'it is HTML and its script' },
  {
    file: 'inspector/apps/policy.ts',
    texts: ['allow-scripts allow-same-origin allow-forms'],
    because: 'it is a value of HTML',
  },
  { file: 'store/redis/commands.ts', texts: ['#!lua flags=allow-oom', 'local P = KEYS[1]'], because: LUA },
  { file: 'store/redis/bus-scripts.ts', because: LUA },
  { file: 'store/redis/claim-scripts.ts', because: LUA },
  { file: 'store/redis/event-scripts.ts', because: LUA },
  { file: 'store/redis/session-scripts.ts', because: LUA },
  { file: 'store/redis/task-scripts.ts', because: LUA },
  { file: 'store/durable/sql-table.ts', because: 'it is SQL' },
  { file: 'testing/contracts/', because: 'it is the title or the data of a test' },
  { file: 'auth/client/loopback-redirect.ts', texts: ['text/html; charset=utf-8'], because: HTTP },
  {
    file: 'auth/client/loopback-redirect.ts',
    texts: ['<!doctype html><><><><></title>'],
    because: 'it is HTML',
  },
  { file: 'auth/client/registration.ts', texts: ['MCP client'], because: NAME },
  { file: 'auth/steps/', because: 'it is a check, or what a step reports' },
  {
    file: 'auth/jwt.ts',
    texts: ['RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'],
    because: NAME,
  },
  { file: 'bridge/bound-tasks.ts', texts: ['everwire tasks'], because: 'it is the name of a key' },
  {
    file: 'bridge/config/json.ts',
    texts: ['Unexpected end'],
    because: 'the JSON parser writes it, and we look for it',
  },
  { file: 'check/', because: 'it is a rule, or what a report says was seen or not tried' },
  {
    file: 'cli/bridge-fleet.ts',
    texts: ['<> was reloaded', '<> can be used again; the servers are unchanged'],
    because: STATUS,
  },
  {
    file: 'cli/bridge-options.ts',
    texts: ['maximum number of sessions, and of connections for clients without a session'],
    because: 'it is help',
  },
  { file: 'cli/bridge.ts', texts: ['inspector on', 'inspector on <>'], because: STATUS },
  {
    file: 'cli/browser-login.ts',
    texts: [
      '<> asks you to log in',
      'Waiting for the browser.',
      'If the browser runs on another machine, the login ends at a page of <> that cannot be loaded:',
      'paste the address of that page here.',
    ],
    because: STATUS,
  },
  { file: 'cli/check-server.ts', texts: ['trying bad input', ': using what the server offers'], because: STATUS },
  { file: 'cli/client-commands.ts', because: 'it is help' },
  { file: 'cli/completion-command.ts', because: 'it is help' },
  { file: 'cli/completion/scripts.ts', because: 'it is a script of a shell' },
  { file: 'cli/completion/suggest.ts', texts: ['display help for command'], because: 'it is help' },
  {
    file: 'cli/dev/reloading.ts',
    texts: ['serving <> <> with <>', 'reloaded, because <> changed', 'the lists are the same'],
    because: STATUS,
  },
  {
    file: 'cli/form.ts',
    texts: [
      '(type !decline to decline, !cancel or Ctrl-D to dismiss the question)',
      '(Enter keeps the value shown, !clear removes it)',
      'Send this? [Y/n, e to edit]',
      'several, with commas<>',
      'one of these',
      'yes or no',
      'whole number<>',
      ', at least <>',
      ', at most <>',
    ],
    because: 'it explains a field of a form',
  },
  { file: 'cli/run.ts', texts: ['inspector on <>'], because: STATUS },
  {
    file: 'cli/hosts.ts',
    texts: ['Claude Desktop', 'Claude Code', 'VS Code', 'Gemini CLI', 'Application Support'],
    because: NAME,
  },
  { file: 'cli/install-commands.ts', because: 'it is help' },
  {
    file: 'cli/install/install.ts',
    texts: ['<> already has this server as <>, in <>.', 'Removed <> from <>: <>', 'Write this?', 'nothing was changed'],
    because: STATUS,
  },
  {
    file: 'cli/install/unified-diff.ts',
    texts: ['\\ No newline at end of file'],
    because: 'it is a line of a difference',
  },
  { file: 'cli/inspect-through.ts', texts: ['inspector on <>'], because: STATUS },
  { file: 'cli/inspect.ts', texts: ['everwire inspect', 'command line'], because: NAME },
  { file: 'cli/inspector-page.ts', texts: ['inspector on <>'], because: STATUS },
  { file: 'cli/list.ts', texts: ['Resource templates'], because: STATUS },
  {
    file: 'cli/log-in.ts',
    texts: [
      'Logged in to <>.',
      'access, without naming scopes',
      'It does not say until when.',
      'Then log in again.',
      'After that, it is renewed without a login.',
      'Valid until <>. <>',
      'the far future',
    ],
    because: STATUS,
  },
  {
    file: 'cli/log-out.ts',
    texts: [
      'Logged out of <>. The tokens are deleted.',
      '<> has revoked <>',
      'it expires',
      'the refresh token. The access token cannot be revoked, and lasts until <>.',
    ],
    because: STATUS,
  },
  { file: 'inspector/authorization-steps.ts', texts: ['The walk was ended'], because: 'nobody sees it' },
  { file: 'client/unchecked-answer.ts', because: 'the client catches it' },
  { file: 'cli/login-commands.ts', because: 'it is help' },
  {
    file: 'cli/options.ts',
    texts: ['look up server names in this file (default: ./mcp.json, then the files of other MCP hosts)'],
    because: 'it is help',
  },
  {
    file: 'cli/offer-url.ts',
    texts: ['<> asks you to open a URL: <>', 'The host is <>.', 'Open it in the browser?'],
    because: STATUS,
  },
  { file: 'cli/check/', because: 'it is a report' },
  { file: 'cli/auth/', because: 'it is a report' },
  {
    file: 'cli/auth.ts',
    texts: ['Enter for the next step, "<>", or q to end:', 'A client stops here. Go on with "<>"? [y/N]'],
    because: STATUS,
  },
  { file: 'cli/comparison/', because: 'it is a report' },
  { file: 'replay/summary.ts', because: 'it is part of a report' },
  { file: 'export/', because: 'it is part of an export' },
  { file: 'cli/report-file.ts', texts: ['<>; the report is in <>'], because: STATUS },
  {
    file: 'cli/replay-options.ts',
    texts: [
      'Exit codes: 0 no differences, 1 differences, or the report could not be written, 2 wrong usage, or the file is not a recording',
    ],
    because: 'it is help',
  },
  {
    file: 'replay/repeated-session.ts',
    texts: ['No answer within <> ms', 'Cancelled as in the recording'],
    because: 'only the server sees it',
  },
  { file: 'cli/output.ts', texts: ['[link to <>: <>]', '[<>, <>, written to <>]'], because: STATUS },
  { file: 'cli/ping.ts', texts: ['answered in <> ms (<>)'], because: STATUS },
  {
    file: 'cli/run.ts',
    texts: [
      'listening on <>',
      'other machines reach it at each address of this machine, on port <>',
      'HTTP+SSE, for clients of 2024-11-05, on <>',
      'each server separately on <>',
      'client configuration:',
    ],
    because: STATUS,
  },
  {
    file: 'cli/sample.ts',
    texts: [
      "<> asks for a model's answer (at most <> tokens):",
      'Answer in place of the model?',
      'Write the answer, then a line with a single dot.',
    ],
    because: STATUS,
  },
  { file: 'cli/with-client.ts', texts: ['the reader of the output has gone'], because: 'nobody is left to read it' },
  { file: 'core/stderr-report.ts', texts: ['Caused by:', '<> Caused by: <>'], because: 'it stands between two errors' },
  { file: 'inspect/frames.ts', because: NOTE },
  { file: 'inspect/head-reader.ts', because: NOTE },
  { file: 'inspect/http-body.ts', because: NOTE },
  { file: 'inspect/http-stream.ts', because: NOTE },
  { file: 'inspect/lines.ts', because: NOTE },
  { file: 'inspect/pieces.ts', because: NOTE },
  { file: 'inspect/page-server/access.ts', because: HTTP },
  { file: 'inspect/page-server/page-server.ts', texts: ['text/plain; charset=utf-8', 'GET, HEAD'], because: HTTP },
  {
    file: 'inspect/page-server/static-files.ts',
    texts: [
      'text/html; charset=utf-8',
      'text/javascript; charset=utf-8',
      'text/css; charset=utf-8',
      'text/plain; charset=utf-8',
    ],
    because: HTTP,
  },
  { file: 'inspect/secret-lines.ts', because: STATE },
  { file: 'inspect/secrets.ts', because: 'it says what a recording masks' },
  { file: 'inspector/raw-request.ts', texts: ['Connection: close'], because: HTTP },
  { file: 'inspector/connection.ts', texts: ['connect to <>'], because: STATUS },
  { file: 'lint/', because: 'it is a rule, or what a finding says was seen' },
  { file: 'operate/health.ts', because: 'it is the answer of /readyz' },
  { file: 'operate/metrics.ts', texts: ['How long requests took'], because: 'it is the help of a metric' },
  {
    file: 'operate/metrics.ts',
    texts: ['HTTP requests that were refused, and responses that were interrupted because they were not read'],
    because: 'it is the help of a metric',
  },
  { file: 'operate/page.ts', texts: ['GET, HEAD', 'text/plain; charset=utf-8'], because: HTTP },
  { file: 'server/registry.ts', texts: ['The list of <>'], because: NAME },
  { file: 'server/resources.ts', texts: ['Resource template', 'Resource template <>'], because: NAME },
  { file: 'transport/http/client/exchange.ts', texts: ['<> <> HTTP/1.1 connection: keep-alive'], because: HTTP },
  { file: 'transport/http/client/http-carrier.ts', texts: ['application/json, text/event-stream'], because: HTTP },
  { file: 'transport/http/client/response-parser.ts', texts: ['until close'], because: STATE },
  {
    file: 'transport/http/message-parser.ts',
    texts: ['until close', 'chunk end', 'chunk size'],
    because: STATE,
  },
  { file: 'transport/http/client/streamable-client.ts', texts: ['application/json, text/event-stream'], because: HTTP },
  { file: 'transport/http/server/access/cors.ts', because: HTTP },
  { file: 'transport/http/server/document.ts', because: HTTP },
  {
    file: 'transport/http/server/socket-connection.ts',
    texts: ['connection: keep-alive keep-alive: timeout=<>', '<>content-length: <> connection: close <>'],
    because: HTTP,
  },
  {
    file: 'transport/http/server/socket-response.ts',
    texts: ['transfer-encoding: chunked', 'connection: close'],
    because: HTTP,
  },
  { file: 'transport/http/server/socket-response.ts', texts: ['until close'], because: STATE },
  { file: 'transport/http/server/sse.ts', because: HTTP },
  { file: 'transport/http/server/sse/sse-session.ts', texts: ['event: endpoint data: <>'], because: HTTP },
  { file: 'transport/http/server/streamable/streamable-endpoint.ts', texts: ['GET, POST, DELETE'], because: HTTP },
  { file: 'transport/stdio/watchdog.ts', because: 'it is a script' },
  { file: 'wire/modern/inbound/sealed-state.ts', texts: ['everwire state'], because: 'it is the name of a key' },
];
