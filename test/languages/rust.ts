import { missingResourceBehindBridge } from './findings.ts';
import type { Language } from './language.ts';
import { bridgedRows, clientRows, serverRows } from './rows.ts';
import { rustProgram } from './toolchains.ts';

export const rustSdk: Language = {
  toolchain: 'Rust',
  name: 'Rust `rmcp` 3.11.0',
  server: (way) => [rustProgram('server'), `--${way}`],
  client: [rustProgram('client')],
  // It has no HTTP+SSE, and so no server that knows only the revisions with a handshake.
  rows: [...serverRows, ...clientRows, ...bridgedRows()].filter(({ way }) => way !== 'sse'),
  tasks: true,
  findings: [missingResourceBehindBridge],
};
